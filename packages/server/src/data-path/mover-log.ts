import { createInterface } from 'node:readline'
import type { KubeClient, Logger } from '@lateen/kube'
import { jsonObject } from './json-object.ts'
import type { Pod } from './mover-state.ts'

/** What a mover logs last, with the words that it leaves anyway. */
export const moverEnds = 'the mover ends'

/** Lines of a mover's log that are taken over. */
const MOST_LINES = 500

/** Takes the log of a mover over into ours, and returns its last lines. A log that cannot be read is no reason to stop. */
export async function takeOverLog(
  { metadata }: Pod,
  { client, log, signal }: { client: KubeClient; log: Logger; signal: AbortSignal },
  lines = 5,
): Promise<string[]> {
  const { namespace = '', name = '' } = metadata
  const last: string[] = []
  try {
    const input = await client.logs({ namespace, name }, { tailLines: MOST_LINES, signal })
    for await (const line of createInterface({ input })) {
      log.info({ mover: name, line }, 'a mover said')
      const told = toldLine(line)
      if (told === '') continue
      last.push(told)
      if (last.length > lines) last.shift()
    }
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error, mover: name }, 'the log of a mover cannot be read')
  }
  return last
}

/** A line of a log for people: what happened, without the places in the program where it did. */
export function toldLine(line: string): string {
  if (/^\s+at /.test(line)) return ''
  const event: { level?: unknown; msg?: unknown; err?: { message?: unknown } } | undefined = jsonObject(line)
  if (event === undefined) return line.trim()
  const { level, msg, err } = event
  return [level, msg, err?.message].filter(part => typeof part === 'string').join(' ')
}
