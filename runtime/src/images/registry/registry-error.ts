/** The registry refused a request, or did not receive it. The message is for operators and contains no credentials. */
export class RegistryError extends Error {
  override name = 'RegistryError'
  /** HTTP status; 0 if there was no response. */
  readonly status: number
  /** The codes in the registry's response, such as `MANIFEST_BLOB_UNKNOWN`. */
  readonly codes: string[]

  constructor(message: string, { status, codes = [], cause }: { status: number; codes?: string[]; cause?: unknown }) {
    super(message, { cause })
    this.status = status
    this.codes = codes
  }
}

/** What a request does, for messages: `push a layer to registry.example.com/o1`. */
export type Purpose = string

/** Returns the error of a response. Its message includes `body` only in the specification's format, since `body` may be a web page. */
export function refused(purpose: Purpose, status: number, body: string): RegistryError {
  const errors = parseErrors(body)
  const details = errors.map(({ code, message }) => [code, message].filter(Boolean).join(': ')).join('; ')
  const explanation = details || (EXPLANATIONS[status] ?? 'no explanation')
  return new RegistryError(
    `Could not ${purpose}: the server responded with status ${status} (${explanation.slice(0, 500)})`,
    {
      status,
      codes: errors.map(({ code }) => code),
    },
  )
}

const EXPLANATIONS: Record<number, string> = {
  401: 'it does not accept the credentials',
  403: 'the credentials do not permit it',
  404: 'not found',
  405: 'not supported',
  413: 'too large for the registry, or for a proxy in front of it',
  429: 'too many requests',
}

function parseErrors(body: string): { code: string; message: string }[] {
  try {
    const { errors }: { errors?: { code?: unknown; message?: unknown }[] } = JSON.parse(body)
    return (errors ?? []).map(({ code, message }) => ({
      code: typeof code === 'string' ? code : '',
      message: typeof message === 'string' ? message : '',
    }))
  } catch {
    return []
  }
}
