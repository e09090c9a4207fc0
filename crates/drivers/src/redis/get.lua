return as_it_is(held(KEYS[2]))
