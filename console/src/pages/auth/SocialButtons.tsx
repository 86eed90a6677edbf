import type { OauthProvider } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { callApi } from '../../api/query.ts'
import { authOptionsQuery } from '../../api/session.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { GithubLogo, GoogleLogo } from './ProviderLogo.tsx'
import { keepSearchForReturn } from './oauth-search.ts'
import { signInErrorText } from './sign-in-error.ts'

const providers = { google: { name: 'Google', Logo: GoogleLogo }, github: { name: 'GitHub', Logo: GithubLogo } }

/** A button for each provider that this installation has set up; nothing where it has none. */
export function SocialButtons({ verb }: { verb: 'Sign in' | 'Sign up' }) {
  const options = useQuery(authOptionsQuery)
  const [leavingTo, setLeavingTo] = useState<OauthProvider | null>(null)
  const [error, setError] = useState<unknown>(null)
  const offered = options.data?.oauth ?? []
  if (offered.length === 0) return null

  const leave = async (provider: OauthProvider) => {
    setLeavingTo(provider)
    try {
      const { url } = await callApi('auth.getOauthUrl', { params: { provider } })
      keepSearchForReturn()
      location.assign(url)
    } catch (failure) {
      setError(failure)
      setLeavingTo(null)
    }
  }
  return (
    <>
      <div className="my-5 flex items-center gap-3 text-ink-3 before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
        or
      </div>
      <div className="flex flex-col gap-2">
        {offered.map((provider) => {
          const { name, Logo } = providers[provider]
          return (
            <Button
              key={provider}
              size={36}
              icon={<Logo />}
              isPending={leavingTo === provider}
              isDisabled={leavingTo !== null}
              onClick={() => void leave(provider)}
            >
              {verb} with {name}
            </Button>
          )
        })}
      </div>
      {error !== null && (
        <Alert tone="bad" className="mt-4">
          {signInErrorText(error)}
        </Alert>
      )}
    </>
  )
}
