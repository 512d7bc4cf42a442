import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'

/** Command lines that load what nearly every command loads. */
const usual = [['--help'], ['backup', 'get', '--help'], ['version', '--client-only'], ['backup', 'get']]

/**
 * Writes beside the program what V8 has compiled of it once usual commands have run, so that starting it compiles next to nothing. The
 * commands talk to a server that has two backups.
 */
export async function compileProgram(program: string, code: string): Promise<void> {
  await using server = await clusterWith([backup('first'), backup('second')])
  // Beside the program, so that it goes with it when this is interrupted.
  const home = `${code}.home`
  await mkdir(home, { recursive: true })
  const kubeconfig = path.join(home, 'kubeconfig')
  await writeFile(kubeconfig, stringify(kubeconfigOf(server.url)))
  const script = path.join(import.meta.dirname, 'compile-program.cjs')
  const commandLines = usual.map(words => JSON.stringify(words))
  await promisify(execFile)(process.execPath, [script, program, code, kubeconfig, ...commandLines], {
    // Other options of V8 than those of whoever builds would make it refuse the code.
    env: { HOME: home, PATH: process.env.PATH },
  })
  await rm(home, { recursive: true })
}

function backup(name: string): object {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'Backup',
    metadata: { name, namespace: 'velero', labels: { 'velero.io/storage-location': 'default' } },
    spec: { includedNamespaces: ['*'], storageLocation: 'default', ttl: '720h0m0s' },
    status: {
      phase: 'Completed',
      startTimestamp: '2026-01-01T00:00:00Z',
      completionTimestamp: '2026-01-01T00:01:00Z',
      expiration: '2026-02-01T00:00:00Z',
    },
  }
}

/** A server that knows these backups and nothing else. */
export async function clusterWith(items: readonly object[]): Promise<{ url: string } & AsyncDisposable> {
  const server = http.createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ apiVersion: 'velero.io/v1', kind: 'BackupList', metadata: {}, items }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** A kubeconfig for a server and a user. */
export function kubeconfigOf(server: string, user: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'empty',
    clusters: [{ name: 'empty', cluster: { server } }],
    contexts: [{ name: 'empty', context: { cluster: 'empty', user: 'empty' } }],
    users: [{ name: 'empty', user }],
  }
}
