import { type Theme, useData } from "vitepress";
// Without the theme's own fonts: those of the system load at once.
import DefaultTheme from "vitepress/theme-without-fonts";
import { defineComponent, h, onMounted, watch } from "vue";
import "./style.css";

/** The theme's layout. Its first page has no `main` element, so its content gets the role. */
const Layout = defineComponent(() => {
  const { frontmatter } = useData();
  onMounted(() => {
    watch(
      () => frontmatter.value["layout"] === "home",
      (isHome) => {
        const content = document.getElementById("VPContent");
        if (isHome) content?.setAttribute("role", "main");
        else content?.removeAttribute("role");
      },
      { immediate: true },
    );
  });
  return () => h(DefaultTheme.Layout);
});

export default { extends: DefaultTheme, Layout } satisfies Theme;
