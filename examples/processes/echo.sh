#!/bin/sh
# An agent in a shell: it reads one JSON object per line, and answers with JSON objects.
# sed finds the text of the message; its quotes and backslashes stay escaped, as JSON needs them.
while read -r line; do
  case $line in
    *'"type":"message"'*)
      text=$(printf '%s' "$line" | sed 's/.*"text":"\(\([^"\\]\|\\.\)*\)","parts".*/\1/')
      printf '{"type":"status","text":"Counting"}\n'
      printf '{"type":"text","text":"You said: %s"}\n' "$text"
      printf '{"type":"done"}\n'
      ;;
    *'"type":"cancel"'*) exit 0 ;;
  esac
done
