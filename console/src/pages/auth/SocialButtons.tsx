import type { OauthProvider } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { callApi } from '../../api/query.ts'
import { authOptionsQuery } from '../../api/session.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { saveSearchForReturn } from './oauth-search.ts'
import { submitErrorText } from '../../api/error-text.ts'

const providers = { google: { name: 'Google', Logo: GoogleLogo }, github: { name: 'GitHub', Logo: GithubLogo } }

/** A sign-in button for each configured OAuth provider. */
export function SocialButtons({ verb }: { verb: 'Sign in' | 'Sign up' }) {
  const options = useQuery(authOptionsQuery)
  const [redirectingTo, setRedirectingTo] = useState<OauthProvider | null>(null)
  const [error, setError] = useState<unknown>(null)
  const enabledProviders = options.data?.oauth ?? []
  if (enabledProviders.length === 0) return null

  const redirectTo = async (provider: OauthProvider) => {
    setRedirectingTo(provider)
    setError(null)
    try {
      const { url } = await callApi('auth.getOauthUrl', { params: { provider } })
      saveSearchForReturn()
      location.assign(url)
    } catch (failure) {
      setError(failure)
      setRedirectingTo(null)
    }
  }
  return (
    <>
      <div className="my-5 flex items-center gap-3 text-ink-3 before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
        or
      </div>
      <div className="flex flex-col gap-2">
        {enabledProviders.map((provider) => {
          const { name, Logo } = providers[provider]
          return (
            <Button
              key={provider}
              size={36}
              icon={<Logo />}
              isPending={redirectingTo === provider}
              isDisabled={redirectingTo !== null}
              onClick={() => void redirectTo(provider)}
            >
              {verb} with {name}
            </Button>
          )
        })}
      </div>
      {error !== null && (
        <Alert tone="bad" className="mt-4">
          {submitErrorText(error)}
        </Alert>
      )}
    </>
  )
}

/** Google's logo in its own colours, as the brand guidelines require. */
function GoogleLogo() {
  return (
    <svg width="16" height="16" viewBox="0 0 24 24" aria-hidden>
      <path
        fill="#4285F4"
        d="M23.500 12.270c0-.82-.07-1.600-.21-2.360H12v4.470h6.450a5.520 5.520 0 0 1-2.390 3.620v3h3.870c2.260-2.090 3.570-5.160 3.570-8.730z"
      />
      <path
        fill="#34A853"
        d="M12 24c3.240 0 5.950-1.070 7.930-2.910l-3.870-3c-1.070.72-2.450 1.150-4.060 1.150-3.120 0-5.770-2.110-6.710-4.950H1.290v3.100A12 12 0 0 0 12 24z"
      />
      <path fill="#FBBC05" d="M5.290 14.290a7.200 7.200 0 0 1 0-4.580v-3.100h-4a12 12 0 0 0 0 10.780l4-3.100z" />
      <path
        fill="#EA4335"
        d="M12 4.760c1.760 0 3.340.61 4.590 1.800l3.430-3.440A11.970 11.970 0 0 0 1.290 6.610l4 3.100C6.230 6.870 8.880 4.760 12 4.760z"
      />
    </svg>
  )
}

function GithubLogo() {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" fill="currentColor" aria-hidden>
      <path d="M8 0a8 8 0 0 0-2.530 15.590c.4.070.55-.17.55-.38l-.01-1.490c-2.010.37-2.530-.49-2.690-.94-.09-.23-.48-.94-.82-1.130-.28-.15-.68-.52-.01-.53.63-.01 1.080.58 1.230.82.72 1.210 1.870.87 2.330.66.07-.52.28-.87.51-1.070-1.780-.2-3.640-.89-3.640-3.950 0-.87.31-1.590.82-2.150-.08-.2-.36-1.020.08-2.120 0 0 .67-.21 2.200.82a7.420 7.420 0 0 1 4 0c1.530-1.040 2.200-.82 2.200-.82.44 1.100.16 1.920.08 2.120.51.56.82 1.270.82 2.150 0 3.070-1.870 3.750-3.650 3.950.29.25.54.73.54 1.480l-.01 2.200c0 .21.15.46.55.38A8.010 8.010 0 0 0 8 0z" />
    </svg>
  )
}
