# What all plots share: size, grid, titles and the line about where the numbers are from; fonts and colors: theme.gp.
# The caller sets: theme (light, dark), format (png, svg), out (the file), folder (of the scripts), data (of prepare.awk's files).

load data."/info.gp"

width = 960; height = 540
load folder."/theme.gp"
set datafile missing "-"

set border 3 linecolor rgb line
set tics nomirror textcolor rgb ink out
set mxtics default
set grid xtics ytics linecolor rgb line linewidth 0.6 dashtype 1
set xlabel textcolor rgb ink
set ylabel textcolor rgb ink
set key Left reverse textcolor rgb ink samplen 2 spacing 1.15 font font_small
do for [i=1:7] {
  set linetype i linecolor rgb color[i] linewidth 1.8 pointtype 7 pointsize 0.9
}

set format x "%.0s%c"
bytes_text(b) = b < 1024 ? sprintf("%.0f B", b) : b < 1048576 ? sprintf("%.0f KiB", b / 1024.) : \
  b < 1073741824 ? sprintf("%.0f MiB", b / 1048576.) : sprintf("%.0f GiB", b / 1073741824.)
# The rate of a benchmark's best run, which is what a ceiling is: over all sizes, and at one.
best_rate(source, name) = system("cut -f 9 '".file(source, name)."' | sort -g | tail -n 1") + 0.
rate_at(source, name, at) = system(sprintf("awk -F '\t' '$1 == %d { rate = $9 } END { print rate + 0 }' '%s'", at, file(source, name))) + 0.

file(source, name) = data."/".source."/".name.".dat"
have(source, name) = int(system("test -s '".file(source, name)."' && echo 1 || echo 0"))
best(source, name, column) = system("sort -g -t '\t' -k ".column." '".file(source, name)."' | tail -n 1 | cut -f ".column) + 0.

has_gpu = exists("gpu_rows") && gpu_rows > 0
# The times of a modeled GPU: dashed, and labeled as modeled in the legend and in the footer.
has_model = exists("model_rows") && model_rows > 0
model_gpu = has_model ? model_device_name[strlen("Simulated ") + 1:strlen(model_device_name) - strlen(" (model)")] : ""
model_title = sprintf("%s, modeled, not measured", model_gpu)
cpu_from = sprintf("%s, %s cores, %s threads", cpu_cpu, cpu_cores, cpu_threads)
# What else was running is part of a measurement.
beside(others) = others eq "" ? "" : others + 0 > 0.1 ? sprintf(", beside %.1f busy cores", others + 0) : ""
cpu_line = sprintf("%s: %s; %s, Ferry %s (%s)%s", cpu_recorded ? "CPU, recorded" : "CPU, this machine", cpu_from, cpu_date, \
  cpu_version, cpu_commit, beside(cpu_others))
if (has_gpu) {
  gpu_line = sprintf("GPU, %s: %s, driver %s; %s, Ferry %s (%s)", gpu_recorded ? "recorded" : "this machine", \
    gpu_device_name, gpu_driver, gpu_date, gpu_version, gpu_commit)
  gpu_name = gpu_recorded ? sprintf("%s, recorded %s", gpu_device_name, gpu_date) : gpu_device_name
} else {
  gpu_line = "No GPU measured yet. To add one: on a machine with a GPU, ./ferry bench --device cuda --out plots/recorded/NAME.tsv"
  gpu_name = ""
}

# The title of the picture, what it shows, and two lines below: where the numbers are from.
set label 1 at screen 0.012,0.955 left font font_title textcolor rgb ink
set label 2 at screen 0.012,0.905 left font font_small textcolor rgb faint
set label 3 cpu_line at screen 0.012,0.055 left font font_tiny textcolor rgb faint noenhanced
set label 4 gpu_line at screen 0.012,0.022 left font font_tiny textcolor rgb faint noenhanced

set tmargin at screen 0.84
set bmargin at screen 0.215
left_panel = "set lmargin at screen 0.105; set rmargin at screen 0.465"
right_panel = "set lmargin at screen 0.6; set rmargin at screen 0.965"
whole = "set lmargin at screen 0.105; set rmargin at screen 0.965"
unset_texts = "unset label 1; unset label 2; unset label 3; unset label 4"

# Plots are put together from parts, since which data there is differs.
parts = ""
