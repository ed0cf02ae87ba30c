(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(function_definition name: (_) @name) @function
(method_declaration name: (_) @name) @function
(namespace_definition name: (_) @name body: (_)) @namespace

(namespace_use_declaration (namespace_use_clause . (_) @import))
(namespace_use_declaration (namespace_name) @import body: (namespace_use_group))
(include_expression (string (string_content) @import))
(include_once_expression (string (string_content) @import))
(require_expression (string (string_content) @import))
(require_once_expression (string (string_content) @import))

[
  (if_statement) (else_if_clause) (for_statement) (foreach_statement) (while_statement) (do_statement)
  (case_statement) (catch_clause) (conditional_expression) (match_conditional_expression)
] @branch
(binary_expression operator: ["&&" "||" "and" "or" "??"]) @branch

(comment) @comment
