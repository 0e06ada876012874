/*
 * completion.c - rowscan completion: a shell's script that completes commands, options and their values
 * SPDX-License-Identifier: MIT
 *
 * It is made of the tables that the commands read their options with: each command is asked for its help, and its table
 * is printed in the shell's words.
 */
#include <string.h>

#include "commands.h"
#include "options.h"
#include "say.h"

/* ---- what the tables say ----------------------------------------------------------------------------------------- */

/*
 * Calls `each` with the words that usage texts name literally, which have no capitals and stand between bars: "why" of
 * "info|why SPEC", and none of "IN.npy OUT.npy". Returns their number.
 */
static int each_literal(const char *usage, void (*each)(const char *word, int length)) {
  int count = 0;
  for (const char *at = usage; at && *at;) {
    int length = (int)strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    const char *bar = strchr(at, '|');
    if (length && *at != '-' && (at[length] == 0 || strchr("| ", at[length]))) {
      each(at, length);
      count++;
    }
    at = bar ? bar + 1 : NULL;
  }
  return count;
}

/* The words that a value may be. Fixed point is left out: a ':' divides words in Bash. Returns their number. */
static int each_word(const cli_kind *kind, void (*each)(const char *word, int length)) {
  int count = each_literal(kind->value, each);
  if (count)
    return count;
  for (int i = 0; i < kind->count; i++)
    if (!strchr(kind->words[i].name, ':')) {
      each(kind->words[i].name, (int)strlen(kind->words[i].name));
      count++;
    }
  return count;
}

static void count_only(const char *word, int length) {
  (void)word;
  (void)length;
}

static void print_word(const char *word, int length) {
  printf(" %.*s", length, word);
}

static bool is_value(const cli_option *option, const char *name) {
  return option->kind->value && !strcmp(option->kind->value, name);
}

/* A text between two apostrophes, with a backslash before each character of `special`. */
static void print_quoted(const char *text, const char *special) {
  for (; *text; text++)
    if (*text == '\'')
      printf("'\\''");
    else
      printf("%s%c", strchr(special, *text) ? "\\" : "", *text);
}

static void print_commands(void) {
  for (int i = 0; i < cli_command_count; i++)
    printf(" %s", cli_commands[i].name);
}

/* ---- Bash -------------------------------------------------------------------------------------------------------- */

static void begin_bash(void) {
  printf("# rowscan - completion for Bash, made by `rowscan completion bash`\n"
         "_rowscan() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options='' words='' given\n"
         "  COMPREPLY=()\n"
         "  # --op=sum is three words: --op, = and sum.\n"
         "  if [[ $word == = ]]; then word=''; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    mapfile -t COMPREPLY < <(compgen -W 'help --help --version");
  print_commands();
  printf("' -- \"$word\")\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n"
         "  help)\n"
         "    words='");
  print_commands();
  printf("'\n"
         "    ;;\n");
}

/* What follows an option that has a value. */
static void print_bash_value(const cli_option *option) {
  if (!option->kind->value)
    return;
  printf("    --%s", option->name);
  if (option->letter)
    printf(" | -%c", option->letter);
  printf(") ");
  if (is_value(option, "FILE"))
    printf("return");
  else if (is_value(option, "DIR"))
    printf("mapfile -t COMPREPLY < <(compgen -d -- \"$word\") && compopt -o filenames 2>/dev/null");
  else if (each_word(option->kind, count_only)) {
    printf("words='");
    each_word(option->kind, print_word);
    printf("'");
  } else
    printf("compopt +o default 2>/dev/null; return");
  printf(" ;;\n");
}

static void print_bash(const cli_syntax *syntax) {
  printf("  %s)\n"
         "    options='--help",
         syntax->name);
  for (int i = 0; i < syntax->option_count; i++)
    if (syntax->options[i].name)
      printf(" --%s", syntax->options[i].name);
  printf("' words='");
  each_literal(syntax->operands, print_word);
  printf("'\n"
         "    for given in \"${COMP_WORDS[@]:2:COMP_CWORD-2}\"; do [[ \" $words \" == *\" $given \"* ]] && words=''; "
         "done\n"
         "    case $before in\n");
  for (int i = 0; i < syntax->option_count; i++)
    if (syntax->options[i].name)
      print_bash_value(&syntax->options[i]);
  printf("    esac\n"
         "    ;;\n");
}

/* Where there are no words, the shell offers files. */
static void end_bash(void) {
  printf("  esac\n"
         "  [[ $word == -* && -n $options ]] && words=$options\n"
         "  [[ -n $words ]] && mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "  return 0\n"
         "}\n"
         "complete -o bashdefault -o default -F _rowscan rowscan\n");
}

/* ---- Zsh --------------------------------------------------------------------------------------------------------- */

static const char zsh_special[] = "[]:\\";

static void begin_zsh(void) {
  printf("#compdef rowscan\n"
         "# rowscan - completion for Zsh, made by `rowscan completion zsh`\n");
}

static void print_zsh_option(const cli_option *option) {
  if (option->letter)
    printf("    '(-%c --%s)'{-%c%s,--%s%s}'[", option->letter, option->name, option->letter,
           option->kind->value ? "+" : "", option->name, option->kind->value ? "=" : "");
  else
    printf("    '--%s%s[", option->name, option->kind->value ? "=" : "");
  print_quoted(option->help, zsh_special);
  printf("]");
  if (is_value(option, "FILE") || is_value(option, "DIR"))
    printf(":%s:_files%s", option->kind->value, is_value(option, "DIR") ? " -/" : "");
  else if (option->kind->value) {
    printf(":value:");
    if (each_word(option->kind, count_only)) {
      printf("(");
      each_word(option->kind, print_word);
      printf(")");
    }
  }
  printf("' \\\n");
}

static void print_zsh(const cli_syntax *syntax) {
  printf("_rowscan_%s() {\n"
         "  _arguments -s -S \\\n"
         "    '(- *)'{-h,--help}'[this text]' \\\n",
         syntax->name);
  for (int i = 0; i < syntax->option_count; i++)
    if (syntax->options[i].name)
      print_zsh_option(&syntax->options[i]);
  if (each_literal(syntax->operands, count_only)) {
    printf("    '1:%s:(", syntax->name);
    each_literal(syntax->operands, print_word);
    printf(")' \\\n");
  }
  printf("    '*:file:_files'\n"
         "}\n");
}

static void end_zsh(void) {
  printf("_rowscan_help() {\n"
         "  _arguments '1:command:(");
  print_commands();
  printf(")'\n"
         "}\n"
         "_rowscan() {\n"
         "  local state line curcontext=$curcontext\n"
         "  local -a commands=(\n");
  for (int i = 0; i < cli_command_count; i++) {
    printf("    '%s:", cli_commands[i].name);
    print_quoted(cli_commands[i].summary, ":\\");
    printf("'\n");
  }
  printf("    'help:print the help of a command'\n"
         "  )\n"
         "  _arguments -C '(- *)'{-h,--help}'[the commands]' '(- *)'{-V,--version}'[the version]' \\\n"
         "    '1:command:->command' '*::argument:->argument'\n"
         "  case $state in\n"
         "  command) _describe command commands ;;\n"
         "  argument) (($+functions[_rowscan_$words[1]])) && _rowscan_$words[1] ;;\n"
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _rowscan ]]; then _rowscan \"$@\"; else compdef _rowscan rowscan; fi\n");
}

/* ---- fish -------------------------------------------------------------------------------------------------------- */

static void begin_fish(void) {
  printf("# rowscan - completion for fish, made by `rowscan completion fish`\n");
  for (int i = 0; i < cli_command_count; i++) {
    printf("complete -c rowscan -n __fish_use_subcommand -f -a %s -d '", cli_commands[i].name);
    print_quoted(cli_commands[i].summary, "\\");
    printf("'\n");
  }
  printf("complete -c rowscan -n __fish_use_subcommand -f -a help -d 'print the help of a command'\n"
         "complete -c rowscan -n __fish_use_subcommand -s V -l version -d 'the version'\n"
         "complete -c rowscan -s h -l help -d 'this text'\n"
         "complete -c rowscan -n '__fish_seen_subcommand_from help' -f -a '");
  print_commands();
  printf("'\n");
}

static void print_fish_option(const char *command, const cli_option *option) {
  printf("complete -c rowscan -n '__fish_seen_subcommand_from %s' -l %s", command, option->name);
  if (option->letter)
    printf(" -s %c", option->letter);
  if (is_value(option, "FILE"))
    printf(" -r -F");
  else if (is_value(option, "DIR"))
    printf(" -x -a '(__fish_complete_directories)'");
  else if (option->kind->value)
    printf(" -x");
  if (option->kind->value && each_word(option->kind, count_only)) {
    printf(" -a '");
    each_word(option->kind, print_word);
    printf("'");
  }
  printf(" -d '");
  print_quoted(option->help, "\\");
  printf("'\n");
}

static void print_fish(const cli_syntax *syntax) {
  for (int i = 0; i < syntax->option_count; i++)
    if (syntax->options[i].name)
      print_fish_option(syntax->name, &syntax->options[i]);
  if (!each_literal(syntax->operands, count_only))
    return;
  printf("complete -c rowscan -n '__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from", syntax->name);
  each_literal(syntax->operands, print_word);
  printf("' -f -a '");
  each_literal(syntax->operands, print_word);
  printf("'\n");
}

static void end_fish(void) {
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

typedef struct shell {
  const char *name;
  void (*begin)(void);
  void (*command)(const cli_syntax *syntax);
  void (*end)(void);
} shell;

static const shell shells[] = {
    {"bash", begin_bash, print_bash, end_bash},
    {"zsh", begin_zsh, print_zsh, end_zsh},
    {"fish", begin_fish, print_fish, end_fish},
};

static int print_script(const shell *to) {
  char option[] = "--help", *arguments[] = {option, NULL};
  to->begin();
  options_help_with(to->command);
  for (int i = 0; i < cli_command_count; i++)
    cli_commands[i].run(1, arguments);
  options_help_with(NULL);
  to->end();
  return EXIT_OK;
}

int command_completion(int argc, char **argv) {
  const cli_syntax syntax = {
      .name = "completion",
      .operands = "bash|zsh|fish",
      .operand_count = 1,
      .about =
          "Prints a script with which the shell completes commands, options and their values. It is installed where\n"
          "the shells look for it. Elsewhere, such as for the command of the Python package:\n"
          "  bash   source <(rowscan completion bash)\n"
          "  zsh    source <(rowscan completion zsh)      (after compinit)\n"
          "  fish   rowscan completion fish | source"};
  const char *name;
  int status = options_read(&syntax, argc, argv, &name);
  if (status != OPTIONS_READ)
    return status;
  for (int i = 0; i < COUNT_OF(shells); i++)
    if (!strcmp(name, shells[i].name))
      return print_script(&shells[i]);
  return say_usage("'%s' is not one of bash, zsh, fish", name);
}
