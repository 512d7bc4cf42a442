import type { FlagSet } from './flag.ts'

const levels = ['trace', 'debug', 'info', 'warning', 'error', 'fatal', 'panic'] as const

/** Flags of programs that log. */
export const logFlags = {
  'log-format': { type: 'choice', default: 'text', choices: ['text', 'json'], help: 'text or json.' },
  'log-level': {
    type: 'choice',
    default: 'info',
    choices: levels,
    help: `The least important lines to log: ${levels.join(', ')}.`,
  },
} as const satisfies FlagSet
