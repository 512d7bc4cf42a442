import type { Place } from '../commands/object-client.ts'
import { readFileFlag } from '../commands/read-file-flag.ts'
import { errorReason } from '../output/error-line.ts'
import type { Trust } from './download-ports.ts'
import { locationCertificates } from './location-certificates.ts'

/** What the user said about certificates. */
export interface TrustWishes {
  readonly cacert: string | undefined
  readonly insecure: boolean
  /** The backup location of the files; asked only if there is no file of certificates. */
  readonly location: () => Promise<string | undefined>
  /** Hears that the location's certificates cannot be had; the download is tried without them. */
  readonly warn: (message: string) => void
}

/**
 * Whom to believe while files are fetched: a file of certificates, else those of the backup location.
 * Throws a CliError when the file cannot be read.
 */
export async function downloadTrust(wishes: TrustWishes, place: Place): Promise<Trust> {
  const { insecure, cacert } = wishes
  if (cacert) return { insecure, certificates: [(await readFileFlag('cacert', cacert)).toString()] }
  try {
    const location = await wishes.location()
    const certificates = location ? await locationCertificates(location, place) : undefined
    return { insecure, certificates: certificates === undefined ? [] : [certificates] }
  } catch (error) {
    place.signal.throwIfAborted()
    wishes.warn(`WARNING: the certificates of the backup location cannot be had: ${errorReason(error)}`)
    return { insecure, certificates: [] }
  }
}
