import { once } from 'node:events'
import type { CommandOutput, OutputStream, Surroundings } from './command.ts'

/** Prints results to stdout, waiting when the reader is slow, and notes to stderr. */
export function commandOutput(
  { stdout, stderr }: Pick<Surroundings, 'stdout' | 'stderr'>,
  { json, quiet }: { json: boolean; quiet: boolean },
): CommandOutput {
  const print = (text: string | Uint8Array) => writeFully(stdout, text)
  return {
    json,
    quiet,
    document: (value, lines) => {
      if (json) return print(`${toJson(value, 2)}\n`)
      return lines.length === 0 ? Promise.resolve() : print(`${lines.join('\n')}\n`)
    },
    row: (value, line) => print(`${json ? toJson(value) : line}\n`),
    bytes: print,
    note: line => {
      if (!quiet) stderr.write(`${line}\n`)
    },
  }
}

async function writeFully(stream: OutputStream, data: string | Uint8Array): Promise<void> {
  if (!stream.write(data)) await once(stream, 'drain')
}

/** JSON with large numbers as texts of digits, errors as their messages and bytes as base64. */
export function toJson(value: unknown, indent?: number): string {
  return JSON.stringify(
    value,
    (_key, field: unknown) => {
      if (typeof field === 'bigint') return String(field)
      if (field instanceof Error) return { code: (field as { code?: unknown }).code, message: field.message }
      if (field instanceof Uint8Array) return Buffer.from(field).toString('base64')
      return field
    },
    indent,
  )
}
