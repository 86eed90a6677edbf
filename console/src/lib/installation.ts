/** A setting of the operator, which the server writes into a meta tag of index.html. Empty if it is missing. */
function readMeta(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="shoal:${name}"]`)?.content ?? ''
}

export const documentationUrl = (): string => readMeta('documentation')
export const supportEmail = (): string => readMeta('support')
export const termsUrl = (): string => readMeta('terms')
export const privacyUrl = (): string => readMeta('privacy')
/** The address of Sentry for error reports; empty if error reporting is off. */
export const sentryDsn = (): string => readMeta('sentry')
