/** URLs of the external services that the API calls. They never come from user input. Tests replace them with their own servers. */
export type ExternalServices = {
  google: OauthUrls
  github: OauthUrls & { emailsUrl: string }
  turnstileVerifyUrl: string
  stripeUrl: string
}

export type OauthUrls = { authorizeUrl: string; tokenUrl: string; profileUrl: string }

export const externalServices: ExternalServices = {
  google: {
    authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenUrl: 'https://oauth2.googleapis.com/token',
    profileUrl: 'https://openidconnect.googleapis.com/v1/userinfo',
  },
  github: {
    authorizeUrl: 'https://github.com/login/oauth/authorize',
    tokenUrl: 'https://github.com/login/oauth/access_token',
    profileUrl: 'https://api.github.com/user',
    emailsUrl: 'https://api.github.com/user/emails',
  },
  stripeUrl: 'https://api.stripe.com',
  turnstileVerifyUrl: 'https://challenges.cloudflare.com/turnstile/v0/siteverify',
}
