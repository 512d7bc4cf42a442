import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { kubeconfigOf } from './compile-program.ts'

/** A mover that hangs would keep the bundle from being made. */
const PATIENCE_MS = 60_000

/**
 * Writes beside the server's part of a bundle what V8 has compiled of it once a mover has run, so that starting one compiles less: movers
 * are started for every volume. It talks to a server that has what it looks for, but for the repository.
 */
export async function compileServer(folder: string): Promise<void> {
  await using server = await clusterForMover()
  // In the bundle's folder, so that it goes with it when this is interrupted.
  const home = path.join(folder, 'server-home')
  await mkdir(path.join(home, 'volume'), { recursive: true })
  await writeFile(path.join(home, 'volume', 'file'), 'x')
  const kubeconfig = path.join(home, 'kubeconfig')
  await writeFile(kubeconfig, JSON.stringify(kubeconfigOf(server.url)))
  const script = path.join(import.meta.dirname, 'compile-server.cjs')
  const words = [
    'pod-volume',
    'backup',
    '--pod-volume-backup=one',
    `--volume-path=${path.join(home, 'volume')}`,
  ]
  await promisify(execFile)(process.execPath, [script, folder, JSON.stringify(words)], {
    // Other options of V8 than those of whoever builds would make it refuse the code.
    env: {
      ...{
        HOME: home,
        PATH: process.env.PATH,
        TMPDIR: home,
        KUBECONFIG: kubeconfig,
        VELERO_NAMESPACE: 'velero',
      },
      ...{ AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' },
      LATEEN_TERMINATION_LOG: path.join(home, 'last-words'),
    },
    timeout: PATIENCE_MS,
    killSignal: 'SIGKILL',
  })
  await rm(home, { recursive: true })
}

const spec = { pod: { namespace: 'shop', name: 'web' }, backupStorageLocation: 'default', volume: 'data' }

/** What a mover asks for, by the end of its path; everything else is a bucket that has nothing. */
function answers(url: string): Readonly<Record<string, object>> {
  const metadata = { name: 'one', namespace: 'velero', uid: 'u', resourceVersion: '1' }
  const move = { kind: 'PodVolumeBackup', metadata, spec, status: { phase: 'InProgress' } }
  const repository = { kind: 'BackupRepository', metadata, spec: {}, status: { phase: 'Ready' } }
  const config = { region: 'us-east-1', s3Url: url, s3ForcePathStyle: 'true' }
  const location = { kind: 'BackupStorageLocation', metadata, spec: { provider: 'aws', config } }
  const password = Buffer.from('password').toString('base64')
  return {
    '/podvolumebackups/one': move,
    '/podvolumebackups': { kind: 'PodVolumeBackupList', metadata: { resourceVersion: '1' }, items: [move] },
    '/backuprepositories': { kind: 'BackupRepositoryList', metadata: {}, items: [repository] },
    '/backupstoragelocations/default': {
      ...location,
      spec: { ...location.spec, objectStorage: { bucket: 'bucket' } },
    },
    '/pods/web': { kind: 'Pod', metadata: { name: 'web', uid: 'w' }, status: { phase: 'Running' } },
    '/secrets/velero-repo-credentials': { kind: 'Secret', data: { 'repository-password': password } },
    '/events': { kind: 'Event', metadata },
  }
}

async function clusterForMover(): Promise<{ url: string } & AsyncDisposable> {
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://server')
    const known = Object.entries(answers(url)).find(([end]) => pathname.endsWith(end))?.[1]
    request.resume()
    response.setHeader('content-type', 'application/json')
    // A watch tells nothing, and stays.
    if (searchParams.has('watch')) return void response.flushHeaders()
    if (known !== undefined) return void response.end(JSON.stringify({ apiVersion: 'v1', ...known }))
    response.setHeader('content-type', 'application/xml')
    response.writeHead(404).end('<Error><Code>NoSuchKey</Code><Message>none</Message></Error>')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
