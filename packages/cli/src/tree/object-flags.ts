import { downloadFlags, linkTimeout } from './download-flags.ts'
import type { FlagSet } from './flag.ts'
import { outputFlags } from './output-flags.ts'

/** What a kind of object is called. */
interface Nouns {
  readonly one: string
  readonly many: string
}

/** The flags of `get`. */
export function getFlags({ many }: Nouns) {
  return {
    selector: { type: 'string', short: 'l', help: `Show only ${many} whose labels match this selector.` },
    ...outputFlags,
  } as const satisfies FlagSet
}

/** The flags of `describe` for objects with files in the object store. */
export function describeFlags({ one, many }: Nouns) {
  return {
    details: { type: 'boolean', help: 'Show more: resources, volumes and operations one by one.' },
    output: {
      type: 'choice',
      short: 'o',
      default: 'plaintext',
      choices: ['plaintext', 'json'],
      help: `How to print: plaintext, or json, which takes effect for a single ${one} only.`,
    },
    selector: { type: 'string', short: 'l', help: `Show only ${many} whose labels match this selector.` },
    wait: {
      type: 'boolean',
      short: 'w',
      help: `Go on until all ${many} shown have ended: on a terminal the description is drawn anew, elsewhere it is printed again when it has changed.`,
    },
    ...downloadFlags,
  } as const satisfies FlagSet
}

/** The flags of `delete`. */
export function deleteFlags({ many }: Nouns) {
  return {
    all: { type: 'boolean', help: `Delete all ${many} of the namespace.` },
    confirm: { type: 'boolean', help: 'Delete without asking.' },
    selector: { type: 'string', short: 'l', help: `Delete all ${many} whose labels match this selector.` },
  } as const satisfies FlagSet
}

/** The flags of `cancel`. */
export function cancelFlags({ one, many }: Nouns) {
  return {
    all: { type: 'boolean', help: `Cancel all ${many} of the namespace that have not ended.` },
    confirm: { type: 'boolean', help: 'Cancel without asking.' },
    selector: {
      type: 'string',
      short: 'l',
      help: `Cancel all ${many} that have not ended and whose labels match this selector.`,
    },
    wait: {
      type: 'boolean',
      short: 'w',
      help: `Wait for the end. The exit code is then 1 if a ${one} was Completed before it could be stopped. Ctrl-C stops the waiting only.`,
    },
  } as const satisfies FlagSet
}

/** The flags of `logs`. */
export const logsFlags = { timeout: linkTimeout('the log'), ...downloadFlags } as const satisfies FlagSet

/** Of commands that show what is in objects. */
export const secretFlags = {
  'show-secrets': {
    type: 'boolean',
    help: 'Show the values of Secrets. Without it marks stand for them, which are the same for the same value.',
  },
} as const satisfies FlagSet
