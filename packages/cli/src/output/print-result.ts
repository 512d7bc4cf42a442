import type { CommandResult } from './command-result.ts'
import { renderTable } from './table.ts'

/** Writes a result as text. Rejects with whatever an async source of lines throws, after the lines before it. */
export async function printResult(result: CommandResult, out: NodeJS.WritableStream): Promise<void> {
  switch (result.show) {
    case 'nothing':
      return
    case 'lines':
      for await (const line of result.lines) out.write(`${line}\n`)
      return
    case 'objects': {
      if (result.format === 'table') {
        out.write(renderTable(result.columns ?? [], result.objects))
        return
      }
      const { encodeObjects } = await import('./encode.ts')
      out.write(await encodeObjects(result, result.format))
      return
    }
  }
}
