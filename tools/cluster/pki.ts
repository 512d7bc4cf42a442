import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { runCommand } from '../binaries/run-command.ts'
import { tool } from '../binaries/tool.ts'
import { addressesOf, type ClusterPlan, filesOf, nodeName } from './cluster-layout.ts'

/** Who a certificate is for. */
export interface CertificateSubject {
  /** File name below `pki/`, without extension. */
  file: string
  commonName: string
  organization?: string
  /** Subject alternative names of a server certificate. */
  names?: readonly string[]
}

/** Makes the cluster's authority, the certificates of its parts and the key pair that signs service account tokens. */
export async function createPki(plan: ClusterPlan): Promise<void> {
  const files = filesOf(plan)
  await mkdir(path.dirname(files.pki('ca.crt')), { recursive: true, mode: 0o700 })
  const openssl = await tool('openssl')
  await runCommand(openssl, [
    ...newKey(files.pki('ca.key')),
    '-subj',
    '/CN=lateen-test',
    '-out',
    files.pki('ca.crt'),
  ])
  await runCommand(openssl, [
    'genpkey',
    '-algorithm',
    'RSA',
    '-pkeyopt',
    'rsa_keygen_bits:2048',
    '-out',
    files.pki('sa.key'),
  ])
  await runCommand(openssl, ['pkey', '-in', files.pki('sa.key'), '-pubout', '-out', files.pki('sa.pub')])
  await Promise.all(clusterCertificates(plan).map(subject => signCertificate(plan, subject)))
}

/** Signs one certificate with the cluster's authority; key and certificate land below `pki/`. */
export async function signCertificate(plan: { folder: string }, subject: CertificateSubject): Promise<void> {
  const files = filesOf(plan)
  const organization = subject.organization ? `/O=${subject.organization}` : ''
  const names = subject.names?.length ? ['-addext', `subjectAltName=${subject.names.join(',')}`] : []
  await runCommand(await tool('openssl'), [
    ...newKey(files.pki(`${subject.file}.key`)),
    '-CA',
    files.pki('ca.crt'),
    '-CAkey',
    files.pki('ca.key'),
    '-subj',
    `${organization}/CN=${subject.commonName}`,
    '-addext',
    'extendedKeyUsage=serverAuth,clientAuth',
    '-addext',
    'basicConstraints=CA:FALSE',
    ...names,
    '-out',
    files.pki(`${subject.file}.crt`),
  ])
}

function newKey(keyFile: string): string[] {
  return [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '3650',
    '-keyout',
    keyFile,
  ]
}

function clusterCertificates(plan: ClusterPlan): CertificateSubject[] {
  const { host, node, apiService } = addressesOf(plan)
  const local = ['DNS:localhost', 'IP:127.0.0.1', `IP:${host}`]
  const kubernetes = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
  ]
  return [
    { file: 'etcd', commonName: 'etcd', names: local },
    {
      file: 'apiserver',
      commonName: 'kube-apiserver',
      names: [...local, `IP:${apiService}`, ...kubernetes.map(n => `DNS:${n}`)],
    },
    { file: 'apiserver-client', commonName: 'kube-apiserver', organization: 'system:masters' },
    { file: 'admin', commonName: 'admin', organization: 'system:masters' },
    { file: 'kube-controller-manager', commonName: 'system:kube-controller-manager' },
    { file: 'kube-scheduler', commonName: 'system:kube-scheduler' },
    { file: 'kube-proxy', commonName: 'system:kube-proxy' },
    {
      file: 'kubelet',
      commonName: `system:node:${nodeName}`,
      organization: 'system:nodes',
      names: [`IP:${node}`, `DNS:${nodeName}`],
    },
  ]
}
