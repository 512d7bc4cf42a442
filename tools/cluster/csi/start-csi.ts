import { runCommand } from '../../binaries/run-command.ts'
import { tool } from '../../binaries/tool.ts'
import type { Cluster } from '../cluster.ts'
import { type ClusterPlan, filesOf } from '../cluster-layout.ts'
import { type Component, createComponent } from '../component.ts'
import { writeKubeconfig } from '../kubeconfig.ts'
import { insideNode, type NodeNamespaces } from '../node/namespaces.ts'
import { signCertificate } from '../pki.ts'
import { waitForCsiDriver } from '../readiness.ts'
import { untilAllowed } from '../until-allowed.ts'
import { untilEstablished } from '../until-established.ts'
import { csiAccessOf } from './csi-access.ts'
import { csiClasses } from './csi-classes.ts'
import { csiDriver, csiSidecars, sidecarNames } from './csi-components.ts'
import { csiRoles } from './csi-rights.ts'
import { snapshotCrds } from './snapshot-crds.ts'

interface Owner {
  start: (component: Component) => void
  components: ReadonlyMap<string, Component>
}

/** Brings up the test CSI driver in the node, the programs that use it, and their definitions, rights and classes. */
export async function startCsi(plan: ClusterPlan, namespaces: NodeNamespaces, owner: Owner): Promise<void> {
  owner.start(createComponent(plan, insideNode(namespaces, csiDriver(plan))))
  await Promise.all([defineSnapshots(plan), ...sidecarNames.map(name => createUser(plan, name))])
  await createObjects(plan, [...csiRoles(), ...csiClasses(csiAccessOf(plan))])
  // Its program would be refused and say so.
  const writing = { verb: 'patch', group: '', resource: 'events' }
  await Promise.all(sidecarNames.map(name => untilAllowed(inCluster(plan), name, writing)))
  for (const sidecar of await csiSidecars(plan)) owner.start(createComponent(plan, sidecar))
  await waitForCsiDriver(plan, owner.components)
}

const groupContents = 'crd/volumegroupsnapshotcontents.groupsnapshot.storage.k8s.io'

/** Between its two versions stands a webhook that is not here. Without it the old one would lose what only the new one has. */
const withoutOldVersion = [
  { op: 'replace', path: '/spec/conversion', value: { strategy: 'None' } },
  { op: 'test', path: '/spec/versions/0/name', value: 'v1beta1' },
  { op: 'replace', path: '/spec/versions/0/served', value: false },
]

async function defineSnapshots(plan: ClusterPlan): Promise<void> {
  const files = (await snapshotCrds()).flatMap(file => ['-f', file])
  const created = await kubectl(plan, ['create', ...files, '-o', 'name'])
  await kubectl(plan, ['patch', groupContents, '--type=json', '-p', JSON.stringify(withoutOldVersion)])
  const names = created.trim().split('\n')
  await untilEstablished(inCluster(plan), ...names.map(name => name.slice(name.indexOf('/') + 1)))
}

async function createUser(plan: ClusterPlan, name: string): Promise<void> {
  await signCertificate(plan, { file: name, commonName: name })
  await writeKubeconfig(plan, { certificate: name, target: filesOf(plan).kubeconfigOf(name) })
}

async function createObjects(plan: ClusterPlan, items: readonly object[]): Promise<void> {
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await kubectl(plan, ['create', '-f', '-'], stdin)
}

function inCluster(plan: ClusterPlan): Pick<Cluster, 'kubectl'> {
  return { kubectl: (args, options) => kubectl(plan, args, options?.stdin) }
}

async function kubectl(plan: ClusterPlan, args: readonly string[], stdin = ''): Promise<string> {
  return runCommand(await tool('kubectl'), ['--kubeconfig', filesOf(plan).kubeconfig, ...args], { stdin })
}
