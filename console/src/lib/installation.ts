/** A setting of the operator, which the server writes into a meta tag of index.html. Empty if it is missing. */
function meta(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="shoal:${name}"]`)?.content ?? ''
}

export const documentationUrl = (): string => meta('documentation')
export const supportEmail = (): string => meta('support')
export const termsUrl = (): string => meta('terms')
export const privacyUrl = (): string => meta('privacy')
/** The address of Sentry for error reports; empty if error reporting is off. */
export const sentryDsn = (): string => meta('sentry')
