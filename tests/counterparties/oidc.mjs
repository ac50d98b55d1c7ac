// Serve oidc-provider for a test: one person with the given claims, and one client that must use PKCE.
import { generateKeyPairSync } from "node:crypto";
import { Provider } from "oidc-provider";

const { url, redirect, client, audience, claims, keys } = JSON.parse(process.argv[2]);

const key = { ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }),
  kid: keys, use: "sig", alg: "RS256" };

const provider = new Provider(url, {
  clients: [
    { client_id: client, token_endpoint_auth_method: "none", redirect_uris: [redirect],
      application_type: "native", grant_types: ["authorization_code"], response_types: ["code"] },
    { client_id: "robot", client_secret: "robot-secret", redirect_uris: [], response_types: [],
      grant_types: ["client_credentials"] },
    { client_id: "other", token_endpoint_auth_method: "none", redirect_uris: [redirect],
      application_type: "native", grant_types: ["authorization_code"], response_types: ["code"] },
  ],
  jwks: { keys: [key] },
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  claims: { openid: ["sub", ...Object.keys(claims)], email: [], profile: [] },
  scopes: ["openid", "email", "profile", "read", "write", "admin"],
  findAccount: async (_, sub) => ({ accountId: sub, claims: async () => ({ sub, ...claims }) }),
  features: {
    devInteractions: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      getResourceServerInfo: (_, resource) => ({
        scope: "read write admin", audience: resource, accessTokenFormat: "jwt", accessTokenTTL: 300,
        jwt: { sign: { alg: "RS256" } },
      }),
      useGrantedResource: () => true,
    },
  },
  extraTokenClaims: async () => ({ tenant: claims.tenant }),
  cookies: { keys: ["a test"] },
});
const { port } = new URL(url);
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
