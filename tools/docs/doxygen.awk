# SPDX-License-Identifier: Apache-2.0
# doxygen.awk: a public header as doxygen reads it. Comments of the headers are plain C comments:
#   /* ... */ in front of declarations holds for all of them up to the next comment or empty line;
#   /* ... */ behind a member or a value holds for it;
#   /* ---- Title ---- ... */ begins a section.

# Names of functions as links: doxygen links types by itself, and others behind a "#". What is
# in `code`, in an indented block, or has parts of a path around it, is left as it is.
function link_names(text, lines, n, i, out, rest, name, before, after) {
  n = split(text, lines, "\n")
  for (i = 1; i <= n; i++) {
    out = out (i > 1 ? "\n" : "")
    rest = lines[i]
    if (rest ~ /^ \*     /) {
      out = out rest
      continue
    }
    while (match(rest, /halo_[a-z0-9_]*[a-z0-9]/)) {
      before = RSTART > 1 ? substr(rest, RSTART - 1, 1) : " "
      name = substr(rest, RSTART, RLENGTH)
      after = substr(rest, RSTART + RLENGTH, 2)
      if (before ~ /[ (]/ && after !~ /^([.][a-z]|[\/*=_`(]|-[a-z])/) name = "#" name
      out = out substr(rest, 1, RSTART - 1) name
      rest = substr(rest, RSTART + RLENGTH)
    }
    out = out rest
  }
  return out
}

function flush_comment(text) {
  sub(/^ *\/\*/, "/**", text)
  print link_names(text)
}

# A section: its title, and what the comment says of all of it.
function begin_section(text, title, rest) {
  title = text
  sub(/^\/\* ---- /, "", title)
  rest = ""
  if (match(title, / ----/)) {
    rest = substr(title, RSTART + 5)
    title = substr(title, 1, RSTART - 1)
  } else if (match(title, /:[ \n]/)) {
    rest = substr(title, RSTART + 1)
    title = substr(title, 1, RSTART - 1)
  }
  gsub(/\n \*/, " ", title)
  sub(/\*\/ *$/, "", rest)
  sub(/---- *$/, "", rest)
  if (in_section) print "/** @} */"
  print "/** @name " title "\n *" link_names(rest) " */"
  print "/** @{ */"
  in_section = 1
}

function end_comment(text) {
  if (text ~ /^\/\* ---- /) {
    begin_section(text)
    comment = ""
  } else if (text ~ /SPDX-License-Identifier/ && text !~ /\n/) {
    print text
  } else if (!seen_first) {
    # The first comment of a file is the file's.
    seen_first = 1
    sub(/^\/\*/, "/** @file\n *", text)
    print link_names(text)
    comment = ""
  } else {
    comment = text
    used = 0
  }
}

{
  if (open_comment) {
    pending = pending "\n" $0
    if ($0 ~ /\*\//) {
      open_comment = 0
      if (trailing) print pending
      else end_comment(pending)
    }
    next
  }
  if ($0 ~ /^\/\*/) {
    trailing = 0
    pending = $0
    if ($0 ~ /\*\/ *$/) end_comment(pending)
    else open_comment = 1
    next
  }
  if (depth == 0 && $0 ~ /^[ \t]*$/) comment = ""
  if (depth == 0 && $0 ~ /^(HALO_API|typedef|enum|struct|#define)/ && comment != "") {
    # A comment behind a declaration replaces one that holds for several.
    if (!used || $0 !~ /;[ ]*\/\*.*\*\/$/) flush_comment(comment)
    used = 1
  }
  line = $0
  depth += gsub(/\{/, "{", line) - gsub(/\}/, "}", line)
  if ($0 ~ /extern "C" \{/) depth--
  if (depth < 0) depth = 0
  # Members: a comment of its own line stands in front, any other behind.
  if ($0 ~ /^[ \t]+\/\*/) sub(/\/\*/, "/**")
  else sub(/\/\*/, "/**<")
  if ($0 ~ /\/\*\*/ && $0 !~ /\*\//) {
    open_comment = 1
    trailing = 1
    pending = $0
    next
  }
  print
}

END {
  if (in_section) print "/** @} */"
}
