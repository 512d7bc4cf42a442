import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { runCommand } from '../binaries/run-command.ts'
import { tool } from '../binaries/tool.ts'
import type { Image } from '../image/oci-image.ts'
import { ClusterError } from './cluster-error.ts'
import { type ClusterNeeds, type ClusterPlan, filesOf } from './cluster-layout.ts'
import { isRunning, readState } from './cluster-state.ts'
import { controlOf } from './control-client.ts'
import { type CsiAccess, csiAccessOf } from './csi/csi-access.ts'
import { writeKubeconfig } from './kubeconfig.ts'
import { deliverImage } from './node/images.ts'
import { signCertificate } from './pki.ts'
import { checkPrerequisites } from './prerequisites.ts'
import { waitForApiServer } from './readiness.ts'
import { type S3Access, s3AccessOf } from './s3-server.ts'
import { sweepCluster } from './sweep.ts'
import { waitUntil } from './wait-until.ts'

/** A running cluster. */
export interface Cluster {
  readonly name: string
  readonly plan: ClusterPlan
  readonly kubeconfigPath: string
  readonly s3: S3Access
  /** What there is of the test CSI driver in a cluster that has it. */
  readonly csi: CsiAccess
  readonly etcd: { endpoint: string; caFile: string; certFile: string; keyFile: string }
  /** Runs kubectl as admin and returns its standard output. */
  kubectl(args: readonly string[], options?: { stdin?: string }): Promise<string>
  /** A kubeconfig for a user that has no rights but those bound to its name or groups. */
  kubeconfigFor(user: string): Promise<string>
  /** Kills a component without warning. */
  kill(component: string): Promise<void>
  /** Makes an image known to the node. Throws the signal's reason. */
  deliverImage(image: Image, signal?: AbortSignal): Promise<void>
  /** Starts a killed component; for the API server, waits until it answers. */
  start(component: string): Promise<void>
}

/** A cluster that ends with the process that started it, or with `stop`. */
export interface OwnedCluster extends Cluster, AsyncDisposable {
  stop(): Promise<void>
}

/** Starts a cluster that lives as long as this process, and not a moment longer. */
export async function startCluster(name: string, needs: ClusterNeeds): Promise<OwnedCluster> {
  const supervisor = await startSupervisor(name, needs)
  const cluster = await openCluster(name)
  const stop = async () => {
    supervisor.stdin.end()
    await stopCluster(name)
  }
  return { ...cluster, stop, [Symbol.asyncDispose]: stop }
}

/**
 * Starts a cluster that stays after this process has ended, once `prepare` is done with it. When that fails, or when this process ends
 * before, nothing of the cluster stays.
 */
export async function startDetachedCluster(
  name: string,
  needs: ClusterNeeds,
  prepare: (cluster: Cluster) => Promise<void> = async () => {},
): Promise<Cluster> {
  const supervisor = await startSupervisor(name, needs)
  const cluster = await openCluster(name)
  try {
    await prepare(cluster)
  } catch (error) {
    supervisor.stdin.end()
    await stopCluster(name)
    throw error
  }
  await new Promise<void>(resolve => supervisor.stdin.end('detach\n', () => resolve()))
  return cluster
}

/** Stops a cluster and waits until nothing of it is left. Works on leftovers of a crash, too. */
export async function stopCluster(name: string): Promise<void> {
  await stopSupervisor(name)
  await sweepCluster(name)
}

/** A cluster that somebody else has started. Throws CLUSTER_NOT_FOUND when it does not run. */
export async function openCluster(name: string): Promise<Cluster> {
  const plan = await readState(name)
  if (!plan || !(await isRunning(plan))) {
    throw new ClusterError('CLUSTER_NOT_FOUND', `no cluster named ${name} is running`, {
      hint: `Start it with: npm run cluster -- up --name ${name}`,
    })
  }
  const files = filesOf(plan)
  const control = controlOf(plan)
  return {
    name,
    plan,
    kubeconfigPath: files.kubeconfig,
    s3: s3AccessOf(plan),
    csi: csiAccessOf(plan),
    etcd: {
      endpoint: `https://127.0.0.1:${plan.ports.etcd}`,
      caFile: files.pki('ca.crt'),
      certFile: files.pki('etcd.crt'),
      keyFile: files.pki('etcd.key'),
    },
    kubectl: async (args, options = {}) =>
      runCommand(await tool('kubectl'), ['--kubeconfig', files.kubeconfig, ...args], options),
    kubeconfigFor: user => kubeconfigFor(plan, user),
    deliverImage: (image, signal) => deliverImage(plan, image, signal),
    kill: control.kill,
    start: async component => {
      await control.start(component)
      if (component === 'kube-apiserver') await waitForApiServer(plan, new Map())
    },
  }
}

/** A cluster that somebody else has begun to start, once all of it runs. Throws CLUSTER_NOT_FOUND when that does not happen. */
export async function openOnceReady(name: string): Promise<Cluster> {
  await waitUntil(async () => (await readState(name))?.ready, {
    timeoutMs: 300_000,
    failure: () =>
      new ClusterError('CLUSTER_NOT_FOUND', `the cluster ${name} did not start within five minutes`, {
        hint: 'The output of whoever starts it says why',
      }),
  })
  return openCluster(name)
}

async function kubeconfigFor(plan: ClusterPlan, user: string): Promise<string> {
  const target = filesOf(plan).kubeconfigOf(user)
  await signCertificate(plan, { file: user, commonName: user })
  await writeKubeconfig(plan, { certificate: user, target })
  return target
}

async function startSupervisor(name: string, needs: ClusterNeeds) {
  await checkPrerequisites(needs)
  const errors = path.join(await mkdtemp(path.join(tmpdir(), 'lateen-cluster-')), 'stderr')
  const parts = (['node', 's3', 'csi'] as const).filter(part => needs[part])
  const options = ['--name', name, ...parts.map(part => `--${part}`)]
  const script = path.join(import.meta.dirname, 'supervisor.ts')
  // The supervisor outlives a detaching starter, so its complaints go to a file and not to our terminal.
  const child = spawn('sh', ['-c', 'exec "$@" 2>"$0"', errors, process.execPath, script, ...options], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const line = await firstLine(child.stdout)
  const complaints = await readFile(errors, 'utf8').catch(() => '')
  await rm(path.dirname(errors), { recursive: true, force: true })
  const answer = line
    ? JSON.parse(line)
    : { ready: false, message: `the supervisor died: ${complaints.trim()}` }
  if (!answer.ready) {
    throw new ClusterError(answer.code ?? 'CLUSTER_FAILED', `cluster ${name} did not start`, {
      hint: answer.message,
    })
  }
  child.unref()
  ;(child.stdout as unknown as { unref(): void }).unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  return child
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string | undefined> {
  for await (const line of createInterface({ input: stream })) return line
  return undefined
}

/**
 * Tells the supervisor to stop until it has ended, which leaves nothing, unless it died on the way. One that has only begun to start
 * does not listen yet.
 */
async function stopSupervisor(name: string): Promise<void> {
  const ended = async () => {
    const state = await readState(name)
    if (state === undefined || !(await isRunning(state))) return true
    await controlOf(state)
      .stop()
      .catch(() => {})
    return false
  }
  // The kernel takes its time to let go of control groups on a busy machine.
  await waitUntil(ended, {
    timeoutMs: 240_000,
    failure: () =>
      new ClusterError('CLUSTER_FAILED', `cluster ${name} did not stop within 240 s`, {
        hint: `Try: npm run cluster -- down --name ${name}`,
      }),
  })
}
