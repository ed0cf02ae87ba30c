#include "table.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 64

static size_t hash(const char *word) {
    size_t h = 5381;
    while (*word) {
        h = h * 33 + (unsigned char)*word++;
    }
    return h;
}

static Entry *find(Entry *slots, size_t size, const char *word) {
    size_t place = hash(word) % size;
    while (slots[place].word && strcmp(slots[place].word, word) != 0) {
        place = (place + 1) % size;
    }
    return &slots[place];
}

void table_init(Table *table) {
    table->slots = calloc(FIRST_SIZE, sizeof(Entry));
    table->size = FIRST_SIZE;
    table->used = 0;
}

static void grow(Table *table) {
    size_t size = table->size * 2;
    Entry *slots = calloc(size, sizeof(Entry));
    for (size_t i = 0; i < table->used; i++) {
        if (table->slots[i].word) {
            *find(slots, size, table->slots[i].word) = table->slots[i];
        }
    }
    free(table->slots);
    table->slots = slots;
    table->size = size;
}

void table_add(Table *table, const char *word) {
    if (table->used * 4 >= table->size * 3) {
        grow(table);
    }
    Entry *entry = find(table->slots, table->size, word);
    if (!entry->word) {
        entry->word = strdup(word);
        table->used++;
    }
    entry->count++;
}

static int more_first(const void *a, const void *b) {
    const Entry *x = a, *y = b;
    if (x->count != y->count) {
        return x->count < y->count ? 1 : -1;
    }
    return strcmp(x->word, y->word);
}

size_t table_sorted(const Table *table, Entry **out) {
    size_t n = 0;
    *out = calloc(table->used + 1, sizeof(Entry));
    for (size_t i = 0; i < table->size && n < table->used; i++) {
        if (table->slots[i].word) {
            (*out)[n++] = table->slots[i];
        }
    }
    qsort(*out, n, sizeof(Entry), more_first);
    return n;
}
