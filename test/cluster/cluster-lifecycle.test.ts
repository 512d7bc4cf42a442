import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, describe, it } from 'node:test'
import { withMachineLock } from '../../tools/binaries/machine-lock.ts'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { openCluster, stopCluster } from '../../tools/cluster/cluster.ts'
import { ClusterError } from '../../tools/cluster/cluster-error.ts'
import { type ClusterPlan, clustersFolder } from '../../tools/cluster/cluster-layout.ts'
import { readState } from '../../tools/cluster/cluster-state.ts'
import { checkPrerequisites } from '../../tools/cluster/prerequisites.ts'
import { tracesOf } from '../../tools/cluster/traces.ts'
import { untilSeen, waitUntil } from '../../tools/cluster/wait-until.ts'

const cli = path.join(import.meta.dirname, '../../tools/cluster/cli.ts')
const clusterModule = path.join(import.meta.dirname, '../../tools/cluster/cluster.ts')
const runId = process.pid.toString(36)

const skip = process.env.LATEEN_TEST_KUBECONFIG
  ? 'these tests make clusters, and LATEEN_TEST_KUBECONFIG asks to use a foreign one'
  : await checkPrerequisites({ node: true, s3: true }).then(
      () => false as const,
      error => (error instanceof ClusterError ? error.message : Promise.reject(error)),
    )

const run = (...args: string[]) => runCommand(process.execPath, [cli, ...args])

async function planOf(name: string): Promise<ClusterPlan> {
  const plan = await readState(name)
  assert.ok(plan, `cluster ${name} has no state`)
  return plan
}

async function leavesNothing(plan: ClusterPlan): Promise<void> {
  let traces: string[] = []
  await waitUntil(
    async () => {
      traces = await tracesOf(plan)
      return traces.length === 0
    },
    { timeoutMs: 120_000, failure: () => new assert.AssertionError({ message: traces.join('\n') }) },
  )
}

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'greeter' },
  spec: {
    containers: [
      {
        name: 'greeter',
        image: 'localhost/lateen-busybox:test',
        imagePullPolicy: 'Never',
        command: ['sh', '-c', 'echo hello > /data/greeting && echo started && sleep infinity'],
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      },
    ],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
  },
}

const claim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
}

describe('npm run cluster', { skip }, () => {
  const named = new Set<string>()
  const nameFor = (part: string) => {
    const name = `t-${runId}-${part}`
    named.add(name)
    return name
  }
  after(async () => {
    for (const name of named) await stopCluster(name)
  })

  it('up --node --s3 runs a pod with a volume, exec and logs work, and down leaves nothing', async () => {
    const name = nameFor('node')
    await run('up', '--name', name, '--node', '--s3')
    const cluster = await openCluster(name)
    await cluster.kubectl(['apply', '-f', '-'], {
      stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [claim, pod] }),
    })
    await cluster.kubectl(['wait', '--for=condition=Ready', 'pod/greeter', '--timeout=120s'])
    // It is ready as soon as its shell runs.
    await untilSeen('its log', async () => (await cluster.kubectl(['logs', 'greeter'])) === 'started\n')
    assert.equal(await cluster.kubectl(['exec', 'greeter', '--', 'cat', '/data/greeting']), 'hello\n')
    const token = '/var/run/secrets/kubernetes.io/serviceaccount'
    const ask = `wget -q -O- --no-check-certificate --header "Authorization: Bearer $(cat ${token}/token)" https://$KUBERNETES_SERVICE_HOST/version`
    // The node may hear of a Service's address a moment after it runs pods.
    const version = await waitUntil(
      () => cluster.kubectl(['exec', 'greeter', '--', 'sh', '-c', ask]).catch(() => undefined),
      { timeoutMs: 120_000, failure: () => new Error('the API server is not reached at its Service') },
    )
    assert.equal(JSON.parse(version).minor, '34')

    const variables = await run('env', '--name', name)
    assert.match(variables, /^export KUBECONFIG='.+'$/m)
    assert.match(variables, /^export AWS_ENDPOINT_URL='http:\/\/.+'$/m)
    assert.match(await run('status'), new RegExp(`^${name}: https://127\\.0\\.0\\.1:\\d+$`, 'm'))
    assert.match(await run('logs', 'kubelet', '--name', name), /greeter/)

    const plan = await planOf(name)
    assert.notDeepEqual(await tracesOf(plan), [], 'the check for traces must see a running cluster')
    await run('down', '--name', name)
    assert.deepEqual(await tracesOf(plan), [])
  })

  it('keeps two clusters apart, and refuses a second one of the same name', async () => {
    const [first, second] = [nameFor('one'), nameFor('two')]
    await run('up', '--name', first)
    await run('up', '--name', second)
    await assert.rejects(run('up', '--name', first), /already running/)
    const clusters = await Promise.all([openCluster(first), openCluster(second)])
    await clusters[0].kubectl(['create', 'namespace', 'only-in-the-first'])
    assert.doesNotMatch(await clusters[1].kubectl(['get', 'namespaces']), /only-in-the-first/)
    const plans = await Promise.all([planOf(first), planOf(second)])
    await run('down', '--name', first)
    await run('down', '--name', second)
    for (const plan of plans) assert.deepEqual(await tracesOf(plan), [])
  })

  it('leaves nothing of a cluster with a node when the test process that owns it is killed outright', async () => {
    const name = nameFor('orphan')
    const owner = startOwner(name, { node: true, s3: true })
    await firstLine(owner)
    const plan = await planOf(name)
    owner.kill('SIGKILL')
    await leavesNothing(plan)
  })

  it('leaves nothing when up is interrupted half-way', async () => {
    const name = nameFor('interrupted')
    const starter = spawn(process.execPath, [cli, 'up', '--name', name, '--node'], { stdio: 'ignore' })
    const exited = once(starter, 'exit')
    const plan = await waitUntil(() => readState(name), {
      timeoutMs: 120_000,
      failure: () => new Error('the cluster never began to start'),
    })
    await waitUntil(async () => (await tracesOf(plan)).some(trace => trace.startsWith('process')), {
      timeoutMs: 120_000,
      failure: () => new Error('no process of the cluster appeared'),
    })
    starter.kill('SIGINT')
    await exited
    await leavesNothing(plan)
  })

  it('clears with the next up what a killed supervisor has left', async () => {
    const [crashed, next] = [nameFor('crashed'), nameFor('next')]
    await run('up', '--name', crashed, '--node')
    const state = await readState(crashed)
    const { supervisor } = state ?? {}
    assert.ok(state && supervisor)
    // Whoever starts a cluster clears the folder, and waits for this lock before.
    await withMachineLock(path.join(clustersFolder(), '.lock'), async () => {
      process.kill(supervisor.pid, 'SIGKILL')
      await waitUntil(async () => (await tracesOf(state)).every(trace => trace.startsWith('folder')), {
        timeoutMs: 120_000,
        failure: () => new Error('processes, mounts or links outlived their supervisor'),
      })
      assert.notDeepEqual(await tracesOf(state), [])
    })
    await run('up', '--name', next)
    assert.deepEqual(await tracesOf(state), [])
    await run('down', '--name', next)
  })

  it('hands out users that may do nothing until they are given rights', async () => {
    const name = nameFor('rights')
    await run('up', '--name', name)
    const cluster = await openCluster(name)
    const kubeconfig = await cluster.kubeconfigFor('nobody-special')
    const kubectl = await tool('kubectl')
    const asNobody = (...args: string[]) => runCommand(kubectl, ['--kubeconfig', kubeconfig, ...args])
    await assert.rejects(asNobody('get', 'pods'), /User "nobody-special" cannot list resource "pods"/)
    await cluster.kubectl(['create', 'rolebinding', 'see', '--clusterrole=view', '--user=nobody-special'])
    await waitUntil(
      () =>
        asNobody('get', 'pods').then(
          () => true,
          () => false,
        ),
      {
        timeoutMs: 120_000,
        failure: () => new Error('the role binding has no effect'),
      },
    )
    await run('down', '--name', name)
  })
})

function startOwner(name: string, needs: { node: boolean; s3: boolean }): ChildProcess {
  const script = `import { startCluster } from ${JSON.stringify(clusterModule)}
    await startCluster(${JSON.stringify(name)}, ${JSON.stringify(needs)})
    console.log('ready')
    setInterval(() => {}, 1000)`
  return spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function firstLine(child: ChildProcess): Promise<string> {
  assert.ok(child.stdout)
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error('the owner of the cluster ended before it was ready')
}
