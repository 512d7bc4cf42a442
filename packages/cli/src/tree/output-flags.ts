import type { FlagSet } from './flag.ts'

/** `-o` of commands that show objects. */
export const outputFlags = {
  output: {
    type: 'choice',
    short: 'o',
    default: 'table',
    choices: ['table', 'json', 'yaml', 'name'],
    help: 'How to print: table, json, yaml, or name, which is a line such as backup.velero.io/shop for each.',
  },
  'label-columns': {
    type: 'list',
    short: 'L',
    help: 'Labels, comma-separated, to show as columns of the table.',
  },
  'show-labels': { type: 'boolean', help: 'Show all labels as the last column of the table.' },
} as const satisfies FlagSet

/** `-o` of commands that make objects: with it, the object is printed and not sent. */
export const createOutputFlags = {
  output: {
    type: 'choice',
    short: 'o',
    choices: ['table', 'json', 'yaml', 'name'],
    help: 'Print the object in this format (table, json, yaml or name) instead of sending it to the cluster.',
  },
  'label-columns': outputFlags['label-columns'],
  'show-labels': outputFlags['show-labels'],
} as const satisfies FlagSet
