import { hiddenCharacters, PersonName, type OauthProvider } from '@shoal/contract'
import { z } from 'zod'
import type { App } from '../../app.ts'
import type { Config } from '../../config/config.ts'
import { externalServices, type ExternalServices } from '../../config/external-services.ts'
import { fetchJson } from './fetch-json.ts'

/** A user's profile at the provider. `email` is null unless the provider has confirmed it. */
export type OauthProfile = { subject: string; email: string | null; fullName: string; avatarUrl: string | null }

export type Provider = {
  label: string
  clientId: string
  clientSecret: string
  scopes: string[]
  urls: ExternalServices[OauthProvider]
  readProfile: (accessToken: string) => Promise<OauthProfile>
}

/** Returns null when the provider's client id or secret is not configured; the console then hides its button. */
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
        urls: services.google,
        readProfile: (accessToken) => googleProfile(services.google, accessToken),
      }
    : {
        label: 'GitHub',
        clientId,
        clientSecret,
        scopes: ['read:user', 'user:email'],
        urls: services.github,
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
  return { subject: user.sub, email, fullName: cleanName(user.name, email), avatarUrl: user.picture ?? null }
}

const GithubUser = z.object({ id: z.number(), login: z.string(), name: z.string().nullish(), avatar_url: HttpsUrl })
const GithubEmails = z.array(z.object({ email: z.email(), primary: z.boolean(), verified: z.boolean() }))

/** Reads the email from the list of emails, because the email of the public profile is not confirmed. */
async function githubProfile(urls: ExternalServices['github'], accessToken: string): Promise<OauthProfile> {
  const user = GithubUser.parse(await fetchJson(urls.profileUrl, { accessToken }))
  const emails = GithubEmails.parse(await fetchJson(urls.emailsUrl, { accessToken }))
  const email = emails.find((e) => e.primary && e.verified)?.email.toLowerCase() ?? null
  return {
    subject: String(user.id),
    email,
    fullName: cleanName(user.name ?? '', user.login),
    avatarUrl: user.avatar_url ?? null,
  }
}

/** Makes a name that Shoal accepts from the provider's name: one without special symbols, hidden characters and links (spec 5). */
export function cleanName(name: string, fallback: string | null): string {
  const Name = PersonName('Name is required')
  const clean = (text: string) => {
    const visible = text.replaceAll(hiddenCharacters, '').replaceAll(/[<>/:]/g, ' ')
    // Without its dots, a name contains no link.
    const candidates = [visible, visible.replaceAll('.', ' ')].map((candidate) => candidate.trim().slice(0, 100).trim())
    return candidates.find((candidate) => Name.safeParse(candidate).success)
  }
  return clean(name) ?? clean(fallback?.split('@')[0] ?? '') ?? 'Nameless'
}
