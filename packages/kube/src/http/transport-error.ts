import { KubeError } from '../errors.ts'
import { describeSubject, type Subject } from './kube-request.ts'

/** The stage a request had reached when it failed. */
export interface FailedRequest {
  subject: Subject
  server: string
  /** Set once the answer's head had arrived. */
  status?: number
}

interface Diagnosis {
  code: string
  reason: string
  hint: string
  retryable: boolean
  mayHaveActed: boolean
}

const notConnected: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'the host name does not resolve',
  EAI_AGAIN: 'the host name does not resolve at the moment',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  UND_ERR_CONNECT_TIMEOUT: 'no connection within the time limit',
  ETIMEDOUT: 'no connection within the time limit',
}

const timedOut: Readonly<Record<string, string>> = {
  UND_ERR_HEADERS_TIMEOUT: 'no answer within the time limit',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped arriving',
}

const untrusted = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
])

/** A KubeError for a failure below HTTP: no connection, no trust, no answer, half an answer. */
export function transportError(error: unknown, request: FailedRequest): KubeError {
  if (error instanceof KubeError) return error
  const { code, reason, hint, retryable, mayHaveActed } = diagnose(error, request)
  return new KubeError(code, {
    message: `cannot ${describeSubject(request.subject)} at ${request.server}: ${reason}`,
    status: request.status,
    hint,
    retryable,
    mayHaveActed,
    cause: error,
  })
}

function diagnose(error: unknown, { server, status }: FailedRequest): Diagnosis {
  const system = systemCode(error)
  const unreached = notConnected[system]
  if (unreached !== undefined) {
    return {
      code: 'Unreachable',
      reason: unreached,
      hint: `check that the API server runs and that ${server} is its address (kubectl config view --minify)`,
      retryable: true,
      mayHaveActed: false,
    }
  }
  const late = timedOut[system]
  if (late !== undefined) {
    const hint = 'the API server is overloaded or a proxy in between holds the answer back: try again'
    return { code: 'TimedOut', reason: late, hint, retryable: true, mayHaveActed: true }
  }
  const tls = diagnoseTls(system, messageOf(error), server)
  if (tls !== undefined) return { ...tls, retryable: false, mayHaveActed: false }
  const when = status === undefined ? 'before an answer came' : `in the middle of the answer (HTTP ${status})`
  return {
    code: status === undefined ? 'ConnectionLost' : 'BodyCut',
    reason: `the connection broke ${when}: ${messageOf(error)}`,
    hint: 'the API server restarted or the network dropped the connection: try again',
    retryable: true,
    mayHaveActed: true,
  }
}

function diagnoseTls(code: string, message: string, server: string) {
  if (untrusted.has(code)) {
    const hint = `the kubeconfig's certificate-authority does not match ${server}: take it from the cluster again`
    return { code: 'CertificateUntrusted', reason: `its certificate is signed by an unknown authority`, hint }
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    const reason =
      code === 'CERT_HAS_EXPIRED' ? 'its certificate has expired' : 'its certificate is not valid yet'
    return {
      code: 'CertificateExpired',
      reason,
      hint: `renew the certificate of ${server}, and check this machine's clock`,
    }
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const hint = 'use a host name the certificate holds, or set tls-server-name in the kubeconfig'
    return {
      code: 'CertificateNameMismatch',
      reason: `its certificate is for another name: ${message}`,
      hint,
    }
  }
  if (/^ERR_SSL_.*ALERT/.test(code)) {
    const hint = "the kubeconfig's client certificate is expired or of another cluster: get a new one"
    return {
      code: 'ClientCertificateRejected',
      reason: `it rejected our client certificate (${message})`,
      hint,
    }
  }
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_OSSL') || code === 'EPROTO') {
    const hint =
      'check that the server speaks TLS and that certificate and key of the kubeconfig are complete PEM files'
    return { code: 'TlsFailed', reason: `TLS failed: ${message}`, hint }
  }
  return undefined
}

function systemCode(error: unknown): string {
  if (!(error instanceof Error)) return ''
  if ('code' in error && typeof error.code === 'string') {
    if (error.code !== 'UND_ERR_SOCKET' || error.cause === undefined) return error.code
  }
  return systemCode(error.cause)
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message === '' ? error.name : error.message
}
