import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { tool } from '../binaries/tool.ts'
import { waitUntil } from '../cluster/wait-until.ts'
import { freePort } from '../test/free-port.ts'

export interface PrometheusOptions {
  /** Scraped every second, each `host:port` with `/metrics`. */
  targets: readonly string[]
  /** Files with rules, evaluated every second. */
  rules: readonly string[]
}

/** A rule as Prometheus has read it. */
export interface LoadedRule {
  name: string
  query: string
  /** `ok` once it was evaluated without an error. */
  health: string
  lastError?: string
}

export interface FiringAlert {
  labels: Readonly<Record<string, string>>
  annotations: Readonly<Record<string, string>>
  state: 'pending' | 'firing'
}

/** A real Prometheus on this machine. Disposing ends it and removes what it stored. */
export interface Prometheus extends AsyncDisposable {
  rules(): Promise<LoadedRule[]>
  alerts(): Promise<FiringAlert[]>
  /** The result of a query now. Throws with what Prometheus objects to. */
  query(expression: string): Promise<{ metric: Record<string, string>; value: [number, string] }[]>
}

/** Starts it and waits until it is ready. Throws ToolError where there is none. */
export async function startPrometheus({ targets, rules }: PrometheusOptions): Promise<Prometheus> {
  const program = await tool('prometheus')
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-prometheus-'))
  const port = await freePort()
  // JSON is YAML.
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    scrape_configs: [{ job_name: 'lateen', static_configs: [{ targets }] }],
    rule_files: rules,
  }
  await writeFile(path.join(folder, 'prometheus.yml'), JSON.stringify(config))
  const child = spawn(
    program,
    [
      `--config.file=${path.join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${path.join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const stop = async () => {
    await end(child)
    await rm(folder, { recursive: true, force: true })
  }
  const url = `http://127.0.0.1:${port}`
  try {
    await ready(child, url)
  } catch (error) {
    await stop()
    throw error
  }
  return { ...answers(url), [Symbol.asyncDispose]: stop }
}

function answers(url: string): Pick<Prometheus, 'rules' | 'alerts' | 'query'> {
  const get = async <T>(what: string): Promise<T> => {
    const response = await fetch(`${url}/api/v1/${what}`)
    const body = (await response.json()) as { status: string; data: T; error?: string }
    if (body.status !== 'success') throw new Error(`Prometheus refuses ${what}: ${body.error}`)
    return body.data
  }
  return {
    async rules() {
      const { groups } = await get<{ groups: { rules: LoadedRule[] }[] }>('rules')
      return groups.flatMap(({ rules }) => rules)
    },
    alerts: async () => (await get<{ alerts: FiringAlert[] }>('alerts')).alerts,
    async query(expression) {
      const path = `query?${new URLSearchParams({ query: expression })}`
      return (await get<{ result: Awaited<ReturnType<Prometheus['query']>> }>(path)).result
    },
  }
}

async function ready(child: ChildProcess, url: string): Promise<void> {
  let said = ''
  child.stderr?.on('data', chunk => {
    said += chunk
  })
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const isReady = () =>
    fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  await waitUntil(async () => hasEnded() || (await isReady()), {
    timeoutMs: 120_000,
    failure: () => new Error(`prometheus did not start:\n${said}`),
  })
  if (hasEnded()) throw new Error(`prometheus ended with ${child.exitCode}:\n${said}`)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await exited
  clearTimeout(late)
}
