import type { OauthProvider } from '@shoal/contract'
import { z } from 'zod'
import type { App } from '../../app.ts'
import type { Config } from '../../config/config.ts'
import { externalServices, type ExternalServices } from '../../config/external-services.ts'
import { fetchJson } from './fetch-json.ts'

/** The user as the provider describes them. `email` is null unless the provider has confirmed it. */
export type OauthProfile = { subject: string; email: string | null; fullName: string; avatarUrl: string | null }

export type Provider = {
  label: string
  clientId: string
  clientSecret: string
  scopes: string[]
  addresses: ExternalServices[OauthProvider]
  readProfile: (accessToken: string) => Promise<OauthProfile>
}

/** Null when no client id is configured: its button is hidden. */
export function findProvider(app: App, name: OauthProvider): Provider | null {
  const { clientId, clientSecret } = credentialsOf(app.config, name)
  if (!clientId || !clientSecret) return null
  const services = { ...externalServices, ...app.external }
  return name === 'google'
    ? {
        label: 'Google',
        clientId,
        clientSecret,
        scopes: ['openid', 'email', 'profile'],
        addresses: services.google,
        readProfile: (accessToken) => googleProfile(services.google, accessToken),
      }
    : {
        label: 'GitHub',
        clientId,
        clientSecret,
        scopes: ['read:user', 'user:email'],
        addresses: services.github,
        readProfile: (accessToken) => githubProfile(services.github, accessToken),
      }
}

const credentialsOf = (config: Config, name: OauthProvider) =>
  name === 'google'
    ? { clientId: config.SHOAL_GOOGLE_CLIENT_ID, clientSecret: config.SHOAL_GOOGLE_CLIENT_SECRET }
    : { clientId: config.SHOAL_GITHUB_CLIENT_ID, clientSecret: config.SHOAL_GITHUB_CLIENT_SECRET }

const HttpsUrl = z
  .url({ protocol: /^https$/ })
  .max(1000)
  .nullish()
  .catch(null)

const GoogleUser = z.object({
  sub: z.string().min(1),
  email: z.email().optional(),
  email_verified: z.boolean().default(false),
  name: z.string().default(''),
  picture: HttpsUrl,
})

async function googleProfile({ profileUrl }: ExternalServices['google'], accessToken: string): Promise<OauthProfile> {
  const user = GoogleUser.parse(await fetchJson(profileUrl, { accessToken }))
  const email = user.email_verified ? (user.email?.toLowerCase() ?? null) : null
  return { subject: user.sub, email, fullName: nameOf(user.name, email), avatarUrl: user.picture ?? null }
}

const GithubUser = z.object({ id: z.number(), login: z.string(), name: z.string().nullish(), avatar_url: HttpsUrl })
const GithubEmails = z.array(z.object({ email: z.email(), primary: z.boolean(), verified: z.boolean() }))

/** The email of the public profile is not confirmed; the list of emails has the confirmed one. */
async function githubProfile(addresses: ExternalServices['github'], accessToken: string): Promise<OauthProfile> {
  const user = GithubUser.parse(await fetchJson(addresses.profileUrl, { accessToken }))
  const emails = GithubEmails.parse(await fetchJson(addresses.emailsUrl, { accessToken }))
  const email = emails.find((e) => e.primary && e.verified)?.email.toLowerCase() ?? null
  return {
    subject: String(user.id),
    email,
    fullName: nameOf(user.name ?? '', user.login),
    avatarUrl: user.avatar_url ?? null,
  }
}

/** Applies our rule for names (spec 5: no special symbols) to the provider's name. */
function nameOf(name: string, fallback: string | null): string {
  const clean = (text: string) =>
    text
      .replaceAll(/[<>/:]/g, ' ')
      .trim()
      .slice(0, 100)
  return clean(name) || clean(fallback?.split('@')[0] ?? '') || 'Nameless'
}
