(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(struct_declaration name: (_) @name) @struct
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(delegate_declaration name: (_) @name) @type
(namespace_declaration name: (_) @name) @namespace
(method_declaration name: (_) @name) @function
(constructor_declaration name: (_) @name) @function
(destructor_declaration name: (_) @name) @function
(local_function_statement name: (_) @name) @function

(using_directive [(qualified_name) (identifier)] @import .)

[
  (if_statement) (for_statement) (foreach_statement) (while_statement) (do_statement)
  (catch_clause) (conditional_expression) (switch_expression_arm)
] @branch
(switch_section "case") @branch
(binary_expression operator: ["&&" "||" "??"]) @branch

(comment) @comment
