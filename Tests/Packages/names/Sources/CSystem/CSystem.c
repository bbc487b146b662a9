#include "CSystem.h"
int other_system(void) { return 0; }
