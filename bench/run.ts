/**
 * `npm run bench -- <name>... [--flag]...`: loads `bench/<name>/index.ts`, which exports `bench(context)`, prints its rows as a table and
 * keeps them in `bench/results/<name>-<day>.md`. A bench measures and never asserts: a missed goal is a row that says no.
 */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describeMachine, type Machine } from '../tools/test/describe-machine.ts'
import { type BenchReport, type BenchRow, printReport } from './report.ts'

/** What a bench gets. */
export interface BenchContext {
  machine: Machine
  /** Adds a row to the table. */
  report(row: BenchRow): void
  /** Adds a line about how it was measured. */
  note(text: string): void
  /** Tells the person who waits what goes on; not part of the report. */
  progress(text: string): void
  /** Ends with Ctrl-C. */
  signal: AbortSignal
  /** Those of `BenchModule.flags` that were given. */
  flags: ReadonlySet<string>
}

/** What `bench/<name>/index.ts` exports. */
export interface BenchModule {
  /** Flags that it knows, such as `--million`. */
  flags?: readonly string[]
  bench(context: BenchContext): Promise<void>
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const names = args.filter(arg => !arg.startsWith('--'))
  const flags = new Set(args.filter(arg => arg.startsWith('--')))
  const known = await knownBenches()
  const unknown = names.filter(name => !known.includes(name))
  if (names.length === 0 || unknown.length > 0) {
    if (unknown.length > 0) console.error(`No bench is called ${unknown.join(' or ')}.`)
    console.error(
      `npm run bench -- <name>... [--flag]...   with these names: ${known.join(', ') || '(none yet)'}`,
    )
    return names.length === 0 ? 0 : 1
  }
  const modules = await Promise.all(names.map(name => loadBench(name)))
  const understood = new Set(modules.flatMap(({ flags = [] }) => flags))
  const strange = [...flags.difference(understood)]
  if (strange.length > 0) {
    console.error(
      `No flag is called ${strange.join(' or ')}; there are: ${[...understood].join(', ') || '(none)'}`,
    )
    return 1
  }
  const interrupted = new AbortController()
  process.once('SIGINT', () => interrupted.abort())
  for (const name of names) await runBench(name, { signal: interrupted.signal, flags })
  return 0
}

async function loadBench(name: string): Promise<BenchModule> {
  return (await import(`./${name}/index.ts`)) as BenchModule
}

async function runBench(name: string, given: Pick<BenchContext, 'signal' | 'flags'>): Promise<void> {
  const { bench } = await loadBench(name)
  const report: BenchReport = { name, machine: describeMachine(), started: new Date(), rows: [], notes: [] }
  await bench({
    machine: report.machine,
    report: row => report.rows.push(row),
    note: text => report.notes.push(text),
    progress: text => console.error(text),
    ...given,
  })
  const text = printReport(report)
  const file = path.join(
    import.meta.dirname,
    'results',
    `${name}-${report.started.toISOString().slice(0, 10)}.md`,
  )
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, text)
  console.log(`${text}\n${path.relative(process.cwd(), file)}`)
}

async function knownBenches(): Promise<string[]> {
  const entries = await readdir(import.meta.dirname, { withFileTypes: true })
  return entries.filter(entry => entry.isDirectory() && entry.name !== 'results').map(entry => entry.name)
}
