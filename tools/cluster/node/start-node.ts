import { writeFile } from 'node:fs/promises'
import { apiRequests } from '../api-request.ts'
import { ClusterError } from '../cluster-error.ts'
import { type ClusterPlan, filesOf } from '../cluster-layout.ts'
import { type Component, type ComponentPlan, createComponent } from '../component.ts'
import { startCsi } from '../csi/start-csi.ts'
import { waitForNode } from '../readiness.ts'
import { waitUntil } from '../wait-until.ts'
import { containerd, containerdSocket } from './containerd.ts'
import { importWorkloadImage } from './images.ts'
import { kubeProxy } from './kube-proxy.ts'
import { kubelet } from './kubelet.ts'
import { createLocalPathObjects, localPathFiles, localPathProvisioner } from './local-path.ts'
import { insideNode, type NodeNamespaces } from './namespaces.ts'

interface Owner {
  start: (component: Component) => void
  components: ReadonlyMap<string, Component>
}

/** Brings up a node that runs pods, reaches the API server and gives out volumes, inside its namespaces. */
export async function startNode(plan: ClusterPlan, namespaces: NodeNamespaces, owner: Owner): Promise<void> {
  const startInside = (part: ComponentPlan) =>
    owner.start(createComponent(plan, insideNode(namespaces, part)))
  startInside(await containerd(plan))
  await containerdAnswers(namespaces)
  await importWorkloadImage(plan, namespaces)
  startInside(await kubelet(plan))
  startInside(await kubeProxy(plan))
  await Promise.all([
    waitForNode(plan, owner.components),
    startLocalVolumes(plan, owner),
    ...(plan.csi ? [startCsi(plan, namespaces, owner)] : []),
  ])
}

async function startLocalVolumes(plan: ClusterPlan, owner: Owner): Promise<void> {
  for (const [file, content] of Object.entries(localPathFiles))
    await writeFile(filesOf(plan).data(file), content)
  await createLocalPathObjects(await apiRequests(plan))
  owner.start(createComponent(plan, await localPathProvisioner(plan)))
}

async function containerdAnswers(namespaces: NodeNamespaces): Promise<void> {
  await waitUntil(
    () =>
      namespaces.run('ctr', ['--address', containerdSocket, 'version']).then(
        () => true,
        () => false,
      ),
    {
      timeoutMs: 60_000,
      failure: () =>
        new ClusterError('CLUSTER_FAILED', 'containerd does not answer', {
          hint: 'See: npm run cluster -- logs containerd',
        }),
    },
  )
}
