/*
 * devices.c - rowscan devices: the GPUs
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "json.h"
#include "options.h"
#include "say.h"

static bool is_served(const rowscan_device_info *info) {
  return atoi(info->arch + strlen("sm_")) >= ROWSCAN_OLDEST_ARCH;
}

static void print_device_json(json_writer *json, int device, const rowscan_device_info *info) {
  json_object(json, NULL);
  json_integer(json, "device", device);
  json_text(json, "name", info->name);
  json_text(json, "arch", info->arch);
  json_integer(json, "multiprocessors", info->multiprocessors);
  json_integer(json, "memory_bytes", info->memory_bytes);
  json_integer(json, "l2_bytes", info->l2_bytes);
  json_integer(json, "shared_bytes", info->shared_bytes);
  if (info->peak_gbs > 0)
    json_number(json, "peak_gbs", info->peak_gbs);
  else
    json_text(json, "peak_gbs", NULL);
  json_bool(json, "served", is_served(info));
  json_end(json);
}

static void print_device_row(int device, const rowscan_device_info *info) {
  char peak[32] = "";
  if (info->peak_gbs > 0)
    snprintf(peak, sizeof peak, "%.0f", info->peak_gbs);
  say_line("%6d  %-32s %-7s %5d %11.1f %9.1f %11.1f %11s", device, info->name, info->arch, info->multiprocessors,
           (double)info->memory_bytes / (1 << 30), (double)info->l2_bytes / (1 << 20), info->shared_bytes / 1024.0,
           peak);
}

static int list_devices(int count, bool as_json) {
  int result = EXIT_OK;
  json_writer json = {.file = stdout};
  if (as_json)
    json_array(&json, NULL);
  else if (count)
    printf("device  %-32s %-7s %5s %11s %9s %11s %11s\n", "name", "arch", "SMs", "memory GiB", "L2 MiB", "shared KiB",
           "peak GB/s");
  for (int i = 0; i < count; i++) {
    rowscan_device_info info = ROWSCAN_INFO(info);
    rowscan_status status = rowscan_device_get(i, &info);
    if (status != ROWSCAN_OK)
      result = say_library(NULL, status);
    else if (as_json)
      print_device_json(&json, i, &info);
    else
      print_device_row(i, &info);
    if (status == ROWSCAN_OK && !is_served(&info))
      say_note("GPU %d is %s, older than sm_%d, the oldest supported architecture: scans run on the CPU", i, info.arch,
               ROWSCAN_OLDEST_ARCH);
  }
  if (as_json)
    json_end(&json);
  return result;
}

int command_devices(int argc, char **argv) {
  bool as_json = false;
  const cli_option options[] = {{"json", 0, &kind_switch, &as_json, "print a JSON array of objects"}};
  const cli_syntax syntax = {.name = "devices",
                             .about = "Lists the GPUs. Without a GPU, scans run on the CPU, and the exit status is 0.",
                             .options = options,
                             .option_count = COUNT_OF(options)};
  int result = options_read(&syntax, argc, argv, NULL), count = 0;
  if (result != OPTIONS_READ)
    return result;
  rowscan_status status = rowscan_device_count(&count);
  if (status != ROWSCAN_OK && status != ROWSCAN_NO_DRIVER && status != ROWSCAN_NO_DEVICE)
    return say_library(NULL, status);
  if (status != ROWSCAN_OK)
    say_library("no GPU", status);
  else if (!count)
    say_note("no GPU");
  return list_devices(count, as_json);
}
