# A program that speaks JSON lines: it answers in three pieces, or asks first. A shell starts fast.
while read -r line; do
  case "$line" in
    *'"type":"message"'*'"text":"ask"'*) echo '{"type":"ask","id":"q","text":"Which?"}' ;;
    *'"type":"cancel"'*) echo '{"type":"done"}' ;;
    *)
      for piece in I heard you; do echo "{\"type\":\"text\",\"text\":\"$piece \"}"; done
      echo '{"type":"done"}'
      ;;
  esac
done
