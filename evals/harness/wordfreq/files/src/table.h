#ifndef TABLE_H
#define TABLE_H

#include <stddef.h>

typedef struct {
    char *word;
    unsigned long count;
} Entry;

typedef struct {
    Entry *slots;
    size_t size, used;
} Table;

void table_init(Table *table);
void table_add(Table *table, const char *word);
size_t table_sorted(const Table *table, Entry **out);

#endif
