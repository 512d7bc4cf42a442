import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type ClusterPlan, filesOf, reachableAddress } from './cluster-layout.ts'

/** Writes a kubeconfig for the user whose certificate is `pki/<certificate>.crt`. JSON is YAML, too. */
export async function writeKubeconfig(
  plan: ClusterPlan,
  options: { certificate: string; target: string; server?: string },
): Promise<void> {
  const files = filesOf(plan)
  const base64 = async (file: string) => (await readFile(files.pki(file))).toString('base64')
  const cluster = `lateen-${plan.name}`
  const server = options.server ?? `https://127.0.0.1:${plan.ports.apiServer}`
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': cluster,
    clusters: [{ name: cluster, cluster: { server, 'certificate-authority-data': await base64('ca.crt') } }],
    contexts: [{ name: cluster, context: { cluster, user: options.certificate } }],
    users: [
      {
        name: options.certificate,
        user: {
          'client-certificate-data': await base64(`${options.certificate}.crt`),
          'client-key-data': await base64(`${options.certificate}.key`),
        },
      },
    ],
  }
  await mkdir(path.dirname(options.target), { recursive: true })
  await writeFile(options.target, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 })
}

/** The kubeconfigs of the admin and of each component that talks to the API server. */
export async function writeKubeconfigs(plan: ClusterPlan): Promise<void> {
  const files = filesOf(plan)
  const inNode = `https://${reachableAddress(plan)}:${plan.ports.apiServer}`
  const components = ['kube-controller-manager', 'kube-scheduler']
  await writeKubeconfig(plan, { certificate: 'admin', target: files.kubeconfig })
  for (const certificate of components) {
    await writeKubeconfig(plan, { certificate, target: files.kubeconfigOf(certificate) })
  }
  for (const certificate of ['kubelet', 'kube-proxy']) {
    await writeKubeconfig(plan, { certificate, target: files.kubeconfigOf(certificate), server: inNode })
  }
}
