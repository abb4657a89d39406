select id, note from notes where id between 1 and 500;
