import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { tool } from '../../tools/binaries/tool.ts'
import type { Cluster } from '../../tools/cluster/cluster.ts'
import { untilSeen } from '../../tools/cluster/wait-until.ts'

export interface WebhookOptions {
  /** Unique in the cluster, with two dots. */
  name: string
  /** What it says to ConfigMaps with the label `lateen.test/ask: <name>` that somebody wants to create. */
  denial: string
}

/** An admission webhook that refuses: the API server asks it when this resolves, and no longer when it is disposed of. */
export async function startWebhook(
  cluster: Pick<Cluster, 'kubectl'>,
  { name, denial }: WebhookOptions,
): Promise<AsyncDisposable> {
  const { key, cert } = await selfSigned()
  const server = createServer({ key, cert }, async (request, response) => {
    const review = (await json(request)) as { request: { uid: string } }
    const answer = { uid: review.request.uid, allowed: false, status: { message: denial } }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer }),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stdin = JSON.stringify(configurationOf(name, { port, cert }))
  await cluster.kubectl(['create', '-f', '-'], { stdin })
  await untilSeen(`${name} is asked`, async () => (await tried(cluster, name)).includes(denial))
  return {
    async [Symbol.asyncDispose]() {
      await cluster.kubectl(['delete', '-f', '-', '--ignore-not-found'], { stdin })
      await untilSeen(`${name} is asked no longer`, async () => !(await tried(cluster, name)).includes(name))
      server.closeAllConnections()
      server.close()
    },
  }
}

/** What the API server says to a ConfigMap about which the webhook is asked. It learns of webhooks a moment after they are there. */
async function tried({ kubectl }: Pick<Cluster, 'kubectl'>, name: string): Promise<string> {
  const metadata = { namespace: 'default', generateName: 'tried-', labels: { 'lateen.test/ask': name } }
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
  return kubectl(['create', '--dry-run=server', '-f', '-'], { stdin }).catch(String)
}

function configurationOf(name: string, { port, cert }: { port: number; cert: Buffer }) {
  const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] }
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        name,
        rules: [rule],
        objectSelector: { matchLabels: { 'lateen.test/ask': name } },
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: cert.toString('base64') },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        failurePolicy: 'Fail',
        timeoutSeconds: 10,
      },
    ],
  }
}

async function selfSigned(): Promise<{ key: Buffer; cert: Buffer }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-webhook-'))
  const [key, cert] = [path.join(folder, 'key'), path.join(folder, 'cert')]
  await runCommand(await tool('openssl'), [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert],
  ])
  const made = { key: await readFile(key), cert: await readFile(cert) }
  await rm(folder, { recursive: true })
  return made
}
