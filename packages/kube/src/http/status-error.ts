import { KubeError, type KubeErrorOptions, type StatusDetails } from '../errors.ts'
import { describeSubject, type Subject } from './kube-request.ts'

interface StatusBody {
  kind?: string
  message?: string
  reason?: string
  code?: number
  details?: StatusDetails
  metadata?: { continue?: string }
}

/** An answer that is no success, as it came in. */
export interface ErrorAnswer {
  status: number
  body: string
  retryAfter: string | undefined
  subject: Subject
  server: string
}

const reasonByStatus: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
}

/**
 * What admission plugins say in the first seconds of an API server, which does not know its own objects yet, before they have looked
 * at the request (k8s.io/apiserver, pkg/admission/plugin/namespace/lifecycle/admission.go, and others).
 */
const notYetReady = /\bnot yet ready to handle request$/
const unreadyHint = 'the API server has just started: try again in a few seconds'

/** The error for an HTTP answer of 300 and above, or for a Status sent inside a watch. */
export function statusError(answer: ErrorAnswer): KubeError {
  const parsed = parseStatus(answer.body)
  const reason = parsed?.reason
  const code = reason === undefined || reason === '' ? reasonOf(answer.status) : reason
  const said = parsed?.message ?? (answer.body.trim().slice(0, 300) || `HTTP ${answer.status}`)
  const retryAfterMs = retryAfterOf(answer.retryAfter, parsed?.details)
  const unready = answer.status === 403 && notYetReady.test(said)
  const turnedAway = unready || answer.status === 429 || (answer.status === 503 && retryAfterMs !== undefined)
  return new KubeError(code, {
    message: `cannot ${describeSubject(answer.subject)} at ${answer.server}: ${said}`,
    status: answer.status,
    details: parsed?.details,
    hint: unready ? unreadyHint : hintFor(code, answer, said),
    retryable: turnedAway || answer.status >= 500,
    mayHaveActed: answer.status >= 500 && !turnedAway,
    retryAfterMs,
    continueToken: parsed?.metadata?.continue,
  } satisfies KubeErrorOptions)
}

function parseStatus(body: string): StatusBody | undefined {
  if (!body.startsWith('{')) return undefined
  try {
    const parsed = JSON.parse(body) as StatusBody
    return parsed.kind === 'Status' ? parsed : undefined
  } catch {
    return undefined
  }
}

function reasonOf(status: number): string {
  return reasonByStatus[status] ?? (status >= 500 ? 'InternalError' : `Http${status}`)
}

/** Seconds from the header, otherwise from the Status; the HTTP-date form is not used by Kubernetes. */
function retryAfterOf(header: string | undefined, details: StatusDetails | undefined): number | undefined {
  const seconds = header === undefined ? details?.retryAfterSeconds : Number.parseInt(header, 10)
  return seconds === undefined || !Number.isFinite(seconds) || seconds < 0 ? undefined : seconds * 1000
}

/** In the words of a role: a path that was read as it stands, and what we call discovering, are not. */
function forbiddenHint(subject: Subject, said: string): string {
  const [, named = '', group = ''] = /cannot \S+ resource "([^"]+)" in API group "([^"]*)"/.exec(said) ?? []
  const isPath = subject.resource.startsWith('/') && named !== ''
  const resource = isPath ? [named, group].filter(Boolean).join('.') : subject.resource
  const verb = subject.verb === 'discover' ? 'get' : subject.verb
  const place = subject.namespace === undefined ? '' : ` --namespace ${subject.namespace}`
  return `ask for a role that allows "${verb}" on "${resource}"; check with: kubectl auth can-i ${verb} ${resource}${place}`
}

function hintFor(code: string, { server, subject }: ErrorAnswer, said: string): string | undefined {
  switch (code) {
    case 'Forbidden':
      return forbiddenHint(subject, said)
    case 'Unauthorized':
      return `the credentials for ${server} are missing, expired or of another cluster: log in again, or check the user of the current kubeconfig context`
    case 'Conflict':
      return 'read the object again and repeat the change on the version just read'
    case 'Invalid':
      return 'correct the fields that are named and send the object again'
    case 'TooManyRequests':
      return 'the API server is throttling requests: try again later, or lower the concurrency'
    case 'RequestEntityTooLarge':
      return 'the object is larger than the API server accepts (about 1.5 MiB): split it or store the data elsewhere'
    default:
      return undefined
  }
}
