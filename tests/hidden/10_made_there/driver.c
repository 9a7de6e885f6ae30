#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  FyDevice device = fy_device(driver_text(d, "device"));
  int64_t rows = (int64_t)driver_number(d, "rows"), columns = (int64_t)driver_number(d, "columns");
  driver_count(d);
  FyTensor *grid = offset_grid(device, rows, columns, driver_number(d, "offset"));
  driver_stop(d);
  driver_put(d, "grid", grid);
  driver_put_number(d, "one row repeated", grid && fy_dim(grid) == 2 && rows > 1 && fy_stride_at(grid, 0) == 0);
}
