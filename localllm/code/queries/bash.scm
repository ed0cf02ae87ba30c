(function_definition name: (_) @name) @function

((command name: (command_name) @_source . argument: (_) @import) (#match? @_source "^(source|\\.)$"))

[
  (if_statement) (elif_clause) (for_statement) (c_style_for_statement) (while_statement) (case_item)
  (ternary_expression)
] @branch
(list ["&&" "||"] @branch)

(comment) @comment
