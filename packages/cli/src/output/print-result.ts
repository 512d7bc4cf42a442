import { once } from 'node:events'
import type { CommandResult, LinesResult, TextResult } from './command-result.ts'
import { columnsOf, disarmed, isTerminal } from './paint.ts'
import { type Progress, progressBar, progressLine } from './progress.ts'
import { renderTable } from './table.ts'

const LINE_EVERY_MS = 10_000
const USUAL_COLUMNS = 80
const CLEAR_LINE = '\r\u001b[K'

/**
 * Writes a result as text and returns the exit code. Rejects with whatever an async source of lines or text throws,
 * after what came before it.
 */
export async function printResult(result: CommandResult, out: NodeJS.WritableStream): Promise<number> {
  switch (result.show) {
    case 'nothing':
      return 0
    case 'lines':
      await (isTerminal(out) ? printLive(result.lines, out) : printLines(result.lines, out))
      return result.exitCode?.() ?? 0
    case 'text':
      await printText(result.chunks, out)
      return result.exitCode?.() ?? 0
    case 'objects': {
      if (result.format === 'table') {
        out.write(renderTable(result.columns ?? [], result.objects))
        return 0
      }
      const { encodeObjects } = await import('./encode.ts')
      out.write(await encodeObjects(result, result.format))
      return 0
    }
  }
}

async function printLines(lines: LinesResult['lines'], out: NodeJS.WritableStream): Promise<void> {
  let last: Progress | undefined
  for await (const line of lines) {
    if (typeof line === 'string') {
      out.write(`${line}\n`)
    } else if (last?.phase !== line.phase || line.elapsedMs - last.elapsedMs >= LINE_EVERY_MS) {
      out.write(`${progressLine(line)}\n`)
      last = line
    }
  }
}

async function printLive(lines: LinesResult['lines'], out: NodeJS.WritableStream): Promise<void> {
  let bar = ''
  try {
    for await (const line of lines) {
      const clear = bar === '' ? '' : CLEAR_LINE
      bar = typeof line === 'string' ? '' : progressBar(line, columnsOf(out) ?? USUAL_COLUMNS)
      out.write(clear + (typeof line === 'string' ? `${line}\n` : bar))
    }
  } finally {
    if (bar !== '') out.write('\n')
  }
}

async function printText(chunks: TextResult['chunks'], out: NodeJS.WritableStream): Promise<void> {
  const decoder = new TextDecoder()
  for await (const chunk of chunks) {
    // Bytes are a file of the bucket, in which anybody may have written: a terminal does not obey them.
    const isForeign = typeof chunk !== 'string' && isTerminal(out)
    const shown = isForeign ? disarmed(decoder.decode(chunk, { stream: true })) : chunk
    if (!out.write(shown)) await once(out, 'drain')
  }
}
