#include "table.h"

#include <ctype.h>
#include <stdio.h>

#define LONGEST 256

int main(void) {
    Table table;
    char word[LONGEST];
    size_t length = 0;
    int c;
    table_init(&table);
    while ((c = getchar()) != EOF) {
        if (isalpha(c)) {
            if (length < LONGEST - 1) {
                word[length++] = (char)c;
            }
        } else if (length) {
            word[length] = '\0';
            table_add(&table, word);
            length = 0;
        }
    }
    Entry *entries;
    size_t n = table_sorted(&table, &entries);
    for (size_t i = 0; i < n; i++) {
        printf("%lu %s\n", entries[i].count, entries[i].word);
    }
    return 0;
}
