int other_system(void);
