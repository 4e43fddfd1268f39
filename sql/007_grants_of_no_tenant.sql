-- Records of `tenant: {from: none}` and of `semel consume` have the tenant ''.
ALTER TABLE semel.grants DROP CONSTRAINT grants_tenant_check;
