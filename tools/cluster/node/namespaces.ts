import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { runCommand } from '../../binaries/run-command.ts'
import { tools } from '../../binaries/tool.ts'
import { ClusterError } from '../cluster-error.ts'
import { addressesOf, type ClusterPlan, filesOf, linkName } from '../cluster-layout.ts'
import { type Component, type ComponentPlan, createComponent } from '../component.ts'
import { waitUntil } from '../wait-until.ts'

/** The namespaces a node lives in, held by its first process. */
export interface NodeNamespaces {
  /** The command line that runs a program inside. It dies with the process that runs this command line. */
  enter(command: string, args: readonly string[]): { command: string; args: string[] }
  run(command: string, args: readonly string[]): Promise<string>
}

/** Folders of the cluster and where the node sees them. */
function nodeFolders(plan: ClusterPlan): { from: string; to: string }[] {
  const files = filesOf(plan)
  return [
    { from: files.data('kubelet'), to: '/var/lib/kubelet' },
    { from: files.data('containerd'), to: '/var/lib/containerd' },
    { from: files.data('local-path'), to: '/var/lib/local-path' },
  ]
}

/**
 * Gives the node mount, network and process namespaces of its own. When their first process dies, the kernel
 * takes every pod, mount, bridge and packet rule of the node with it, so that nothing can be left behind.
 */
export async function openNamespaces(
  plan: ClusterPlan,
  start: (component: Component) => void,
): Promise<NodeNamespaces> {
  const { tini } = await tools(['tini'])
  const init = createComponent(plan, {
    name: 'node',
    command: 'unshare',
    args: [
      '--mount',
      '--net',
      '--pid',
      '--kill-child=KILL',
      '--mount-proc',
      tini,
      '-s',
      '--',
      'sleep',
      'infinity',
    ],
  })
  start(init)
  const target = await firstChild(init)
  const namespaces = namespacesOf(target)
  await mountFolders(plan, namespaces)
  await connect(plan, { namespaces, target })
  await writeFile(filesOf(plan).nodePid, `${target}`)
  return namespaces
}

/** The namespaces of a running cluster's node. Throws CLUSTER_NOT_FOUND when it has none. */
export async function joinNamespaces(plan: ClusterPlan): Promise<NodeNamespaces> {
  const target = await readFile(filesOf(plan).nodePid, 'utf8').catch(cause => {
    throw new ClusterError('CLUSTER_NOT_FOUND', `cluster ${plan.name} has no node`, {
      hint: 'Start it with --node',
      cause,
    })
  })
  return namespacesOf(Number(target))
}

function namespacesOf(target: number): NodeNamespaces {
  const enter = (command: string, args: readonly string[]) => ({
    command: 'nsenter',
    args: ['-t', `${target}`, '-m', '-n', '-p', '--', 'setpriv', '--pdeathsig', 'KILL', command, ...args],
  })
  return {
    enter,
    run: (command, args) => {
      const inside = enter(command, args)
      return runCommand(inside.command, inside.args)
    },
  }
}

/** A component that runs inside the node. */
export function insideNode(namespaces: NodeNamespaces, plan: ComponentPlan): ComponentPlan {
  return { ...plan, ...namespaces.enter(plan.command, plan.args) }
}

async function firstChild(component: Component): Promise<number> {
  return waitUntil(
    async () => {
      const pid = component.pid
      if (pid === undefined) throw unshareFailed()
      const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
      const [child] = children.trim().split(' ').filter(Boolean)
      return child === undefined ? undefined : (await isTini(child)) && Number(child)
    },
    { timeoutMs: 60_000, everyMs: 20, failure: unshareFailed },
  )
}

/** The namespaces are complete once the child has become tini. */
async function isTini(pid: string): Promise<boolean> {
  return (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() === 'tini'
}

function unshareFailed(): ClusterError {
  return new ClusterError('CLUSTER_UNAVAILABLE', 'the node cannot have namespaces of its own', {
    hint: 'Run as root with CAP_SYS_ADMIN, or set LATEEN_TEST_KUBECONFIG to the kubeconfig of a disposable cluster',
  })
}

/** Inside, `/` is shared, as kubelet and volume drivers expect it; outside, nothing of it is seen. */
async function mountFolders(plan: ClusterPlan, namespaces: NodeNamespaces): Promise<void> {
  const folders = nodeFolders(plan)
  for (const { from } of folders) await mkdir(from, { recursive: true })
  const script = [
    'set -e',
    'mount --make-rshared /',
    'mount -t tmpfs tmpfs /run',
    'mount -t tmpfs tmpfs /var/lib',
    ...folders.map(({ from, to }) => `mkdir -p ${to} && mount --bind ${from} ${to}`),
    'echo 1 > /proc/sys/net/ipv4/ip_forward',
  ]
  await namespaces.run('sh', ['-c', script.join('\n')])
}

/** One link between machine and node; the machine finds pods behind the node. */
async function connect(
  plan: ClusterPlan,
  node: { namespaces: NodeNamespaces; target: number },
): Promise<void> {
  const { ip } = await tools(['ip'])
  const link = linkName(plan)
  const addresses = addressesOf(plan)
  const outside = (...args: string[]) => runCommand(ip, args)
  const inside = (...args: string[]) => node.namespaces.run(ip, args)
  await outside('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', `${node.target}`)
  await outside('address', 'add', `${addresses.host}/24`, 'dev', link)
  await outside('link', 'set', link, 'up')
  await inside('link', 'set', 'lo', 'up')
  await inside('address', 'add', `${addresses.node}/24`, 'dev', 'eth0')
  await inside('link', 'set', 'eth0', 'up')
  await inside('route', 'add', 'default', 'via', addresses.host)
  await outside('route', 'add', addresses.podSubnet, 'via', addresses.node)
}
