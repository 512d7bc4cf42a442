/**
 * The process that owns one cluster: starts its parts, answers on a socket in its folder, and takes everything
 * down again when told to, on a signal, or when the pipe to whoever started it closes without the word `detach`.
 * Its parts are tied to it by the kernel, so that killing it outright leaves no process either.
 */
import { parseArgs } from 'node:util'
import { ClusterError } from './cluster-error.ts'
import type { ClusterPlan } from './cluster-layout.ts'
import { writeState } from './cluster-state.ts'
import { type Component, createComponent } from './component.ts'
import { controlPlane } from './control-plane.ts'
import { serveControl } from './control-server.ts'
import { writeKubeconfigs } from './kubeconfig.ts'
import { planCluster } from './make-plan.ts'
import { openNamespaces } from './node/namespaces.ts'
import { startNode } from './node/start-node.ts'
import { createPki } from './pki.ts'
import { identify } from './process-identity.ts'
import { waitForApiServer, waitForDefaultServiceAccount, waitForS3 } from './readiness.ts'
import { s3Server } from './s3-server.ts'
import { sweepCluster } from './sweep.ts'

const { values } = parseArgs({
  options: {
    name: { type: 'string' },
    node: { type: 'boolean' },
    s3: { type: 'boolean' },
    csi: { type: 'boolean' },
  },
})
const components = new Map<string, Component>()
let plan: ClusterPlan | undefined
let stopping: Promise<void> | undefined

/** Stops once, however often it is asked. */
function stop(): Promise<void> {
  stopping ??= takeDown()
  return stopping
}

async function takeDown(): Promise<void> {
  await Promise.all([...components.values()].map(component => component.kill()))
  if (plan) await sweepCluster(plan.name)
  process.exit(0)
}

async function bringUp(): Promise<void> {
  const self = await identify(process.pid)
  if (!self)
    throw new ClusterError('CLUSTER_UNAVAILABLE', '/proc is not readable', { hint: 'A cluster needs Linux' })
  const name = values.name ?? 'default'
  const made = await planCluster(name, {
    node: values.node ?? false,
    s3: values.s3 ?? false,
    csi: values.csi ?? false,
    supervisor: self,
  })
  plan = made
  await serveControl(made, { components, stop })
  await createPki(made)
  await writeKubeconfigs(made)
  const start = (component: Component) => {
    components.set(component.plan.name, component)
    component.start()
  }
  // The machine's end of the link is the address that the control plane and S3 are reached at.
  const namespaces = made.node ? await openNamespaces(made, start) : undefined
  const [etcd, apiServer, ...controllers] = (await controlPlane(made)).map(part =>
    createComponent(made, part),
  )
  const s3 = made.s3 ? createComponent(made, await s3Server(made)) : undefined
  for (const component of [etcd, apiServer, s3]) if (component) start(component)
  await waitForApiServer(made, components)
  for (const component of controllers) start(component)
  await waitForDefaultServiceAccount(made, components)
  if (s3) await waitForS3(made, components)
  if (namespaces) await startNode(made, namespaces, { start, components })
  await writeState({ ...made, supervisor: self, ready: true })
}

function whenTheStarterLeaves(then: () => void): void {
  let detached = false
  process.stdin.on('data', (chunk: Buffer) => {
    if (chunk.toString().includes('detach')) detached = true
  })
  process.stdin.once('close', () => {
    if (!detached) then()
  })
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop())
whenTheStarterLeaves(() => void stop())
process.stdout.on('error', () => {})

try {
  await bringUp()
  process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
} catch (error) {
  const { code, message } = error as ClusterError
  process.stdout.write(`${JSON.stringify({ ready: false, code, message })}\n`)
  await stop()
}
