# An image with the convoke command. Build it from the root of the repository: docker build -t convoke .
# docs/guide/deployment.md says how to run it, and how to add an agent to it.
# test/deploy runs these steps without Docker, so the commands use relative paths.

FROM node:24-slim AS build
WORKDIR /source
COPY package.json package-lock.json tsconfig.json tsconfig.base.json ./
COPY packages packages
COPY apps apps
RUN npm ci --ignore-scripts --no-audit --no-fund
RUN npx --no-install tsc -b
RUN mkdir ../tarballs && npm pack --workspaces --pack-destination ../tarballs
# As a user installs it: no sources, no development dependencies.
WORKDIR /app
RUN echo '{"private":true,"type":"module"}' > package.json
RUN npm install --omit=dev --ignore-scripts --no-audit --no-fund ../tarballs/*.tgz
RUN mkdir ../data

FROM node:24-slim
WORKDIR /app
COPY --from=build /app ./
# The image is read-only at run time; tasks are in this volume, unless DATABASE_URL is set.
COPY --from=build --chown=node:node /data /data
VOLUME /data
USER node
ENV NODE_ENV=production BIND_HOST=0.0.0.0 PORT=3000 CONVOKE_DATA=/data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Not by npx, so that the signal to stop reaches the server itself. docs/operating/capacity.md explains the flag.
ENTRYPOINT ["node", "--max-semi-space-size=32", "node_modules/convoke/bin/convoke.js"]
CMD ["serve"]
