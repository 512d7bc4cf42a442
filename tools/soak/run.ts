/**
 * The long counts: `npm run soak` lists them, `npm run soak -- <name>... [--seeds N] [--from SEED]` runs them, `--all` runs
 * every one. Each writes its report to `soak/results`.
 */
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine } from '../test/describe-machine.ts'
import { type SoakPlan, soakPlans } from './plan.ts'
import { printSoakReport, type SoakResult } from './soak-report.ts'

const root = path.join(import.meta.dirname, '..', '..')

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false }, seeds: { type: 'string' }, from: { type: 'string' } },
})

process.exitCode = await main()

async function main(): Promise<number> {
  const unknown = positionals.filter(name => !soakPlans.some(plan => plan.name === name))
  const chosen = soakPlans.filter(plan => flags.all || positionals.includes(plan.name))
  if (unknown.length > 0 || chosen.length === 0) {
    if (unknown.length > 0) console.error(`No soak is called ${unknown.join(' or ')}.`)
    console.error('npm run soak -- <name>... | --all   with these names:')
    for (const { name, shows, seeds } of soakPlans)
      console.error(`  ${name}: ${seeds} seeds, shows that ${shows}`)
    return unknown.length > 0 ? 1 : 0
  }
  let worst = 0
  for (const plan of chosen) {
    const result = await soak(plan)
    console.log(`Report: ${await writeReport(result)}`)
    worst = Math.max(worst, result.exitCode)
  }
  return worst
}

async function soak(plan: SoakPlan): Promise<SoakResult> {
  const seeds = Number(flags.seeds ?? plan.seeds)
  const firstSeed = Number(flags.from ?? randomInt(2 ** 31 - seeds))
  const env = {
    ...process.env,
    ...plan.env,
    LATEEN_SOAK: '1',
    LATEEN_SOAK_SEEDS: `${seeds}`,
    LATEEN_SOAK_FROM: `${firstSeed}`,
  }
  const started = new Date()
  const { exitCode, output } = plan.oneSeedPerRun
    ? await runForEach(plan, env, { firstSeed, seeds })
    : await runTests(plan, env)
  const seconds = (Date.now() - started.getTime()) / 1000
  return { plan, machine: describeMachine(), started, seconds, firstSeed, seeds, exitCode, output }
}

async function runForEach(
  plan: SoakPlan,
  env: NodeJS.ProcessEnv,
  { firstSeed, seeds }: { firstSeed: number; seeds: number },
): Promise<{ exitCode: number; output: string }> {
  const all = { exitCode: 0, output: '' }
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    const { exitCode, output } = await runTests(plan, { ...env, LATEEN_SEED: `${seed}` })
    all.exitCode = Math.max(all.exitCode, exitCode)
    // Of runs that passed the summary is enough.
    all.output += exitCode === 0 ? output.slice(output.lastIndexOf('ℹ tests')) : output
  }
  return all
}

function runTests(plan: SoakPlan, env: NodeJS.ProcessEnv): Promise<{ exitCode: number; output: string }> {
  const only = plan.files.flatMap(file => ['--only', file])
  const args = [path.join(root, 'tools/test/run.ts'), '--timeout', `${plan.timeoutMinutes}`, ...only]
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    process.stdout.write(chunk)
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => resolve({ exitCode: code ?? 1, output: Buffer.concat(chunks).toString() }))
  })
}

async function writeReport(result: SoakResult): Promise<string> {
  const file = path.join(
    root,
    'soak',
    'results',
    `${result.plan.name}-${result.started.toISOString().slice(0, 10)}.md`,
  )
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, printSoakReport(result))
  return path.relative(process.cwd(), file)
}
