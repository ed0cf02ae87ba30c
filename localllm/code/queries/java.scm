(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(annotation_type_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(method_declaration name: (_) @name) @function
(constructor_declaration name: (_) @name) @function
(compact_constructor_declaration name: (_) @name) @function

(import_declaration [(scoped_identifier) (identifier)] @import)

[
  (if_statement) (for_statement) (enhanced_for_statement) (while_statement) (do_statement)
  (catch_clause) (ternary_expression)
] @branch
(switch_label "case") @branch
(binary_expression operator: ["&&" "||"]) @branch

[(line_comment) (block_comment)] @comment
